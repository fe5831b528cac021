// Fetches the events that are new, a line for each. Go 1.18 or later, nothing to install (tested with Go 1.19).
//
//	API_KEY='tvs_test_...' go run events.go ISSUER
//
// Run it every minute. The file events.iterator says how far it has come; what fails comes the next time, so a line can
// come twice, and none is left out.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/url"
	"os"
	"time"
)

const place = "events.iterator"

// A key is for the address that it is meant for, and not for wherever a redirect leads.
var client = http.Client{
	Timeout:       15 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

type page struct {
	Data []struct { // keep an event's set: it proves later what you were told
		EventId, EventType string
		Data               struct{ RegNo string }
	}
	Iterator *string
	Done     bool
}

func fetch(query url.Values) (page page) {
	request, err := http.NewRequest("GET", os.Args[1]+"/v1/inter-agency/events?"+query.Encode(), nil)
	stopIf(err)
	request.Header.Set("Authorization", "Bearer "+os.Getenv("API_KEY"))
	response, err := client.Do(request)
	stopIf(err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	stopIf(err)
	if response.StatusCode != http.StatusOK {
		log.Fatalf("%s: %s", response.Header.Get("X-Error-Code"), body)
	}
	stopIf(json.Unmarshal(body, &page))
	return page
}

func stopIf(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	log.SetFlags(0)
	for isDone := false; !isDone; {
		query := url.Values{}
		after, err := os.ReadFile(place)
		if !errors.Is(err, fs.ErrNotExist) {
			stopIf(err)
			query.Set("after", string(after))
		}
		page := fetch(query)
		for _, event := range page.Data {
			fmt.Println(event.EventId, event.EventType, event.Data.RegNo)
		}
		if page.Iterator != nil {
			stopIf(os.WriteFile(place+".new", []byte(*page.Iterator), 0o600))
			stopIf(os.Rename(place+".new", place))
		}
		isDone = page.Done
	}
}
