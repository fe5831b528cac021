// Go 1.18 or later, nothing to install.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
)

func main() {
	request, err := http.NewRequest("METHOD", "ADDRESS", strings.NewReader(`BODY_IF_ANY`))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("NAME", "VALUE")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.StatusCode, string(text))
}
