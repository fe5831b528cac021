// Asks about one teacher. Go 1.18 or later, nothing to install (tested with Go 1.19).
//
//	API_KEY='tvs_test_...' go run ask.go ISSUER PURPOSE REGISTRATION_NUMBER
//
// Saves the answer and the keys that prove it: envelope.json, jwks.json, key-history.jose. Verify before you rely on it.
package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

// A key is for the address that it is meant for, and not for wherever a redirect leads.
var client = http.Client{
	Timeout:       15 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// call asks again up to three times what the service could not answer, and ends with what it refused.
func call(method, url string, body []byte, headers map[string]string) []byte {
	for attempt := 0; ; attempt++ {
		request, err := http.NewRequest(method, url, bytes.NewReader(body))
		stopIf(err)
		for name, value := range headers {
			request.Header.Set(name, value)
		}
		status, answer := send(request)
		if status == http.StatusOK {
			return answer
		}
		waitSeconds, mayHelp := 1<<attempt, status == 0 || status >= 500
		if status == http.StatusTooManyRequests {
			var told struct{ RetryAfterSeconds int }
			mayHelp = json.Unmarshal(answer, &told) == nil
			waitSeconds = told.RetryAfterSeconds
		}
		if !mayHelp || attempt == 3 || waitSeconds > 60 {
			log.Fatalf("%d: %s", status, answer)
		}
		time.Sleep(time.Duration(waitSeconds) * time.Second)
	}
}

// send gives 0 with the failure when nothing came back.
func send(request *http.Request) (int, []byte) {
	response, err := client.Do(request)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	return response.StatusCode, answer
}

func stopIf(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	log.SetFlags(0)
	api, purpose, regNo := os.Args[1]+"/v1/inter-agency", os.Args[2], os.Args[3]
	idempotencyKey := make([]byte, 16) // the same for each retry of one question
	_, err := rand.Read(idempotencyKey)
	stopIf(err)
	question, err := json.Marshal(map[string]any{"identifier": map[string]string{"regNo": regNo}, "purpose": purpose})
	stopIf(err)
	envelope := call("POST", api+"/eligibility-check", question, map[string]string{
		"Authorization":   "Bearer " + os.Getenv("API_KEY"),
		"Content-Type":    "application/json",
		"Idempotency-Key": fmt.Sprintf("%x", idempotencyKey),
	})
	stopIf(os.WriteFile("envelope.json", envelope, 0o600))
	stopIf(os.WriteFile("jwks.json", call("GET", api+"/.well-known/jwks.json", nil, nil), 0o600))
	stopIf(os.WriteFile("key-history.jose", call("GET", api+"/.well-known/key-history", nil, nil), 0o600))
	var answer struct{ Result json.RawMessage }
	stopIf(json.Unmarshal(envelope, &answer))
	var result struct {
		Found    bool     `json:"found"`
		Status   string   `json:"status"`
		Eligible bool     `json:"eligible"`
		Reasons  []string `json:"reasons"`
	}
	stopIf(json.Unmarshal(answer.Result, &result))
	stopIf(json.NewEncoder(os.Stdout).Encode(result))
}
