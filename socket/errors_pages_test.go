package socket

import (
	"os"
	"strings"
	"testing"
)

// The pages of the errors say which word each is on this front.
func TestErrorPages(t *testing.T) {
	for code, word := range respCodes {
		page, err := os.ReadFile("../docs/errors/" + string(code) + ".md")
		if err != nil {
			t.Errorf("%s has no page: %v", code, err)
			continue
		}
		// LOCK answers a lock that was not got with a null.
		if !strings.Contains(string(page), "| `"+word+"` |") && !strings.Contains(string(page), "| null") {
			t.Errorf("the page of %s does not have the word %s", code, word)
		}
	}
}
