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
	"strings"
	"time"
)

// A key is for the address that it is meant for, and not for wherever a redirect leads.
var client = http.Client{
	Timeout:       15 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// call asks again up to three times what the service could not answer, and ends with what it refused.
func call(method, url string, body []byte, headers map[string]string) ([]byte, http.Header) {
	for attempt := 0; ; attempt++ {
		request, err := http.NewRequest(method, url, bytes.NewReader(body))
		stopIf(err)
		for name, value := range headers {
			request.Header.Set(name, value)
		}
		status, answer, head := send(request)
		if status == http.StatusOK {
			return answer, head
		}
		waitSeconds, mayHelp := 1<<attempt, status == 0 || status >= 500
		if status == http.StatusTooManyRequests {
			var told struct{ RetryAfterSeconds int }
			mayHelp = json.Unmarshal(answer, &told) == nil
			waitSeconds = told.RetryAfterSeconds
		}
		if !mayHelp || attempt == 3 || waitSeconds > 60 {
			log.Fatalf("%d %s: %s", status, head.Get("X-Error-Code"), answer)
		}
		time.Sleep(time.Duration(waitSeconds) * time.Second)
	}
}

// send gives 0 with the failure when nothing came back.
func send(request *http.Request) (int, []byte, http.Header) {
	response, err := client.Do(request)
	if err != nil {
		return 0, []byte(err.Error()), nil
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, []byte(err.Error()), nil
	}
	return response.StatusCode, answer, response.Header
}

type answer struct {
	VerificationId string
	VerifiedAt     time.Time
	Result         json.RawMessage
}

// isMine tells whether this is the answer to the question: somebody on the way may have kept a genuine one to another.
func (a answer) isMine(head http.Header, regNo string, begunAt time.Time) bool {
	var about struct {
		Found       bool
		Certificate struct{ RegNo string }
	}
	stopIf(json.Unmarshal(a.Result, &about))
	asked := strings.ToUpper(strings.Join(strings.Fields(regNo), ""))
	return (!about.Found || about.Certificate.RegNo == asked) &&
		a.VerificationId == head.Get("X-Verification-Id") &&
		a.VerifiedAt.After(begunAt.Add(-time.Minute)) && a.VerifiedAt.Before(time.Now().Add(time.Minute))
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
	begunAt := time.Now()
	envelope, head := call("POST", api+"/eligibility-check", question, map[string]string{
		"Authorization":   "Bearer " + os.Getenv("API_KEY"),
		"Content-Type":    "application/json",
		"Idempotency-Key": fmt.Sprintf("%x", idempotencyKey),
	})
	var answer answer
	stopIf(json.Unmarshal(envelope, &answer))
	if !answer.isMine(head, regNo, begunAt) {
		log.Fatal("this answers another question")
	}
	jwks, _ := call("GET", api+"/.well-known/jwks.json", nil, nil)
	keyHistory, _ := call("GET", api+"/.well-known/key-history", nil, nil)
	stopIf(os.WriteFile("envelope.json", envelope, 0o600))
	stopIf(os.WriteFile("jwks.json", jwks, 0o600))
	stopIf(os.WriteFile("key-history.jose", keyHistory, 0o600))
	var result struct {
		Found    bool     `json:"found"`
		Status   string   `json:"status"`
		Eligible bool     `json:"eligible"`
		Reasons  []string `json:"reasons"`
	}
	stopIf(json.Unmarshal(answer.Result, &result))
	stopIf(json.NewEncoder(os.Stdout).Encode(result))
}
