package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"time"
)

var secret = []byte(os.Getenv("WEBHOOK_SECRET")) // the whole text, whsec_ included
var headerPattern = regexp.MustCompile("^t=(0|[1-9][0-9]{0,11}),v1=([0-9a-f]{64})(?:,v1=([0-9a-f]{64}))?$")

func genuine(header string, rawBody []byte, nowSeconds int64) bool {
	match := headerPattern.FindStringSubmatch(header)
	if match == nil {
		return false
	}
	seconds, err := strconv.ParseInt(match[1], 10, 64)
	if age := nowSeconds - seconds; err != nil || age > 300 || age < -300 {
		return false
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(match[1] + "."))
	mac.Write(rawBody)
	expected := []byte(hex.EncodeToString(mac.Sum(nil)))
	return hmac.Equal(expected, []byte(match[2])) || hmac.Equal(expected, []byte(match[3]))
}

func main() {
	port := os.Getenv("PORT")
	if port == "" {
		port = "9876"
	}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		rawBody, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<16))
		if err != nil || !genuine(r.Header.Get("X-AGENCY-Signature"), rawBody, time.Now().Unix()) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		// Now read the event from rawBody. Its eventId may come twice: keep the ids that you have handled.
		w.WriteHeader(http.StatusNoContent)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
