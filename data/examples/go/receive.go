// Receives webhooks. Go 1.18 or later, nothing to install (tested with Go 1.19).
//
//	TVS_WEBHOOK_SECRET='whsec_...' PORT=9876 go run receive.go
//
// One delivery that you kept: go run receive.go --check BODY_FILE SIGNATURE UNIX_SECONDS (exit 0 genuine, 1 not)
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"time"
)

var secret = []byte(os.Getenv("TVS_WEBHOOK_SECRET")) // the whole text, whsec_ included
var headerPattern = regexp.MustCompile("^t=(0|[1-9][0-9]{0,11}),v1=([0-9a-f]{64})(?:,v1=([0-9a-f]{64}))?$")

// judge gives "valid", or why not. The body is the bytes as they came, before anything parses them.
func judge(rawBody []byte, header string, nowSeconds int64) string {
	match := headerPattern.FindStringSubmatch(header)
	if match == nil {
		return "SIGNATURE_HEADER_MALFORMED"
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(match[1] + "."))
	mac.Write(rawBody)
	expected := []byte(hex.EncodeToString(mac.Sum(nil)))
	if !hmac.Equal(expected, []byte(match[2])) && !hmac.Equal(expected, []byte(match[3])) {
		return "SIGNATURE_MISMATCH"
	}
	seconds, _ := strconv.ParseInt(match[1], 10, 64)
	if age := nowSeconds - seconds; age > 300 || age < -300 {
		return "OUTSIDE_REPLAY_WINDOW"
	}
	return "valid"
}

func receive(w http.ResponseWriter, r *http.Request) {
	rawBody, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<16))
	if err != nil || judge(rawBody, r.Header.Get("X-AGENCY-Signature"), time.Now().Unix()) != "valid" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
	// Keep the event's eventId in your database and work afterwards: an event can come twice, and then has the same one.
	log.Printf("%s", rawBody)
}

func main() {
	if len(secret) == 0 {
		log.SetFlags(0)
		log.Println("set TVS_WEBHOOK_SECRET")
		os.Exit(2)
	}
	if len(os.Args) == 5 && os.Args[1] == "--check" {
		rawBody, err := os.ReadFile(os.Args[2])
		now, otherErr := strconv.ParseInt(os.Args[4], 10, 64)
		if err != nil || otherErr != nil {
			log.Fatal(err, otherErr)
		}
		verdict := judge(rawBody, os.Args[3], now)
		fmt.Println(verdict)
		if verdict != "valid" {
			os.Exit(1)
		}
		return
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "9876"
	}
	http.HandleFunc("/", receive)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
