package api

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// What the document says of a duration the gateway does: the same texts and numbers are
// taken, from the same lower limit on.
func TestDocumentHasTheLimitsOfDurations(t *testing.T) {
	schemas := loadDocument(t).Components.Schemas
	g, names := remembering(t), 0
	takes := func(endpoint, text string) bool {
		method, path, _ := strings.Cut(endpoint, " ")
		names++
		path = strings.ReplaceAll(path, "NAME", fmt.Sprint("lock", names))
		return g.do(request{method: method, path: path + url.QueryEscape(text)}).status != 400
	}
	type want struct {
		text string
		ok   map[string]bool // by schema
	}
	all, none := map[string]bool{"Duration": true, "Span": true, "Lease": true}, map[string]bool{}
	zero := map[string]bool{"Duration": true}
	for _, w := range []want{
		{"1", all}, {"1s", all}, {"2.5", all}, {"1m30s", all}, {"4m", all}, {"0.5m", all},
		{"0", zero}, {"0s", zero}, {"0h0m", zero}, {"0d", zero}, {"0.0", zero},
		{"", none}, {"-1", none}, {"-1s", none}, {"+1s", none}, {"1e3", none}, {"s", none}, {"1 s", none}, {"1w", none}, {".5", none},
	} {
		for schema, paths := range map[string][]string{
			"Duration": {"PUT /v1/locks/NAME?wait="},
			"Span":     {"PUT /v1/locks/NAME?max_hold=", "GET /v1/locks/NAME/history?since=", "GET /v1/history?since="},
			"Lease":    {"PUT /v1/locks/NAME?ttl="},
		} {
			documented := schemas[schema].Value.VisitJSON(w.text, openapi3.EnableJSONSchema2020()) == nil
			if documented != w.ok[schema] {
				t.Errorf("the document takes %q for a %s: %v, want %v", w.text, schema, documented, w.ok[schema])
			}
			for _, p := range paths {
				if taken := takes(p, w.text); taken != documented {
					t.Errorf("%s with %q is taken: %v, and documented so: %v", p, w.text, taken, documented)
				}
			}
		}
	}
}

// A number of JSON has the same limits.
func TestDocumentHasTheLimitsOfNumbers(t *testing.T) {
	schemas := loadDocument(t).Components.Schemas
	for schema, least := range map[string]float64{"Duration": 0, "Span": 0.001, "Lease": 1} {
		for number, ok := range map[float64]bool{least: true, least - 0.001: false, -1: false, 3600: true} {
			if got := schemas[schema].Value.VisitJSON(number, openapi3.EnableJSONSchema2020()) == nil; got != ok {
				t.Errorf("the document takes %v for a %s: %v, want %v", number, schema, got, ok)
			}
		}
	}
}
