package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/lockgw/lockgw/session"
)

func loadDocument(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(openapiYAML)
	if err != nil {
		t.Fatalf("load openapi.yaml: %v", err)
	}
	return doc
}

func TestDocumentIsValid(t *testing.T) {
	doc := loadDocument(t)
	if err := doc.Validate(context.Background(), openapi3.IsOpenAPI31OrLater(), openapi3.EnableExamplesValidation()); err != nil {
		t.Errorf("openapi.yaml: %v", err)
	}
	if doc.OpenAPI != "3.1.0" {
		t.Errorf("openapi = %q, want 3.1.0", doc.OpenAPI)
	}
}

var parameter = regexp.MustCompile(`:(\w+)`)

// Every route is in the document, and the reverse.
func TestDocumentHasTheRoutes(t *testing.T) {
	g := newGateway(t, session.Config{})
	var routed, documented []string
	for _, r := range New(Config{Manager: g.m}).engine.Routes() {
		if r.Method == http.MethodHead {
			continue // as GET, says the document of all at once
		}
		routed = append(routed, r.Method+" "+parameter.ReplaceAllString(r.Path, "{$1}"))
	}
	for path, item := range loadDocument(t).Paths.Map() {
		for method := range item.Operations() {
			documented = append(documented, method+" "+path)
		}
	}
	slices.Sort(routed)
	slices.Sort(documented)
	if !slices.Equal(routed, documented) {
		t.Errorf("routes:\n%s\ndocument:\n%s", strings.Join(routed, "\n"), strings.Join(documented, "\n"))
	}
}

func TestDocumentHasTheCodes(t *testing.T) {
	var got, want []string
	for _, c := range loadDocument(t).Components.Schemas["Problem"].Value.Properties["code"].Value.Enum {
		got = append(got, c.(string))
	}
	for c := range codes {
		want = append(want, string(c))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("codes of the document = %q, want %q", got, want)
	}
}

func TestDocumentIsServed(t *testing.T) {
	g := newGateway(t, session.Config{})
	a := g.must(200, request{method: "GET", path: "/openapi.yaml"})
	file, err := os.ReadFile("../openapi.yaml") // at the top level, for people
	if err != nil {
		t.Fatal(err)
	}
	if a.body != string(file) {
		t.Error("/openapi.yaml is not the openapi.yaml of the top level")
	}
}

// strict is the document, with every object closed: an answer may not have what
// the document does not name.
var strict = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromData(openapiYAML)
	if err != nil {
		return nil, err
	}
	for _, s := range doc.Components.Schemas {
		closeObjects(s.Value)
	}
	for _, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, r := range op.Responses.Map() {
				for _, m := range r.Value.Content {
					closeObjects(m.Schema.Value)
				}
			}
		}
	}
	return doc, nil
})

func closeObjects(s *openapi3.Schema) {
	if s.Type.Is("object") && s.AdditionalProperties.Schema == nil {
		no := false
		s.AdditionalProperties.Has = &no
	}
}

// checkAnswer checks an answer against the document, and what all answers share.
func checkAnswer(t *testing.T, req *http.Request, resp *http.Response, body []byte) {
	t.Helper()
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s %s: %s = %q, want %q", req.Method, req.URL, name, got, want)
		}
	}
	if resp.Header.Get(requestIDHeader) == "" {
		t.Errorf("%s %s: no %s", req.Method, req.URL, requestIDHeader)
	}
	for name := range resp.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s %s: has the CORS header %s", req.Method, req.URL, name)
		}
	}
	doc, err := strict()
	if err != nil {
		t.Fatal(err)
	}
	route := findRoute(doc, req)
	if route == nil {
		checkSchema(t, "Problem", string(body))
		return
	}
	validate(t, route, req, resp, body)
	checkHeaders(t, route, req, resp)
}

// ofAll are headers that the document does not name at each answer.
var ofAll = []string{
	"Allow", "Cache-Control", "Connection", "Content-Length", "Content-Type", "Date", "Transfer-Encoding", "X-Content-Type-Options",
}

// checkHeaders: an answer has no header that the document does not name.
func checkHeaders(t *testing.T, route *routers.Route, req *http.Request, resp *http.Response) {
	t.Helper()
	known := slices.Clone(ofAll)
	if documented := route.Operation.Responses.Status(resp.StatusCode); documented != nil {
		for name := range documented.Value.Headers {
			known = append(known, http.CanonicalHeaderKey(name))
		}
	}
	for name := range resp.Header {
		if !slices.Contains(known, name) {
			t.Errorf("%s %s: the answer %d has the header %s, which is not documented", req.Method, req.URL, resp.StatusCode, name)
		}
	}
}

func validate(t *testing.T, route *routers.Route, req *http.Request, resp *http.Response, body []byte) {
	t.Helper()
	mt, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	err := openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, Route: route},
		Status:                 resp.StatusCode,
		Header:                 resp.Header,
		Body:                   io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{
			IncludeResponseStatus: true,
			ExcludeResponseBody:   slices.Contains(schemaless, mt),
		},
	})
	if err != nil {
		t.Errorf("%s %s: the answer %d %s is not as documented: %v", req.Method, req.URL, resp.StatusCode, body, err)
	}
}

// schemaless are types of which no schema says much.
var schemaless = []string{"application/yaml", sse, ndjson, "text/html", "text/css", "text/javascript", "image/svg+xml"}

// findRoute prefers a path without parameters, as the router does.
func findRoute(doc *openapi3.T, req *http.Request) (found *routers.Route) {
	for path, item := range doc.Paths.Map() {
		op := item.Operations()[req.Method]
		if op != nil && matchPath(path, req.URL) && (found == nil || !strings.Contains(path, "{")) {
			found = &routers.Route{Spec: doc, Path: path, PathItem: item, Method: req.Method, Operation: op}
		}
	}
	return found
}

func matchPath(pattern string, u *url.URL) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(u.EscapedPath(), "/")
	return slices.EqualFunc(want, got, func(w, g string) bool { return w == g || strings.HasPrefix(w, "{") && g != "" })
}

// checkSchema checks JSON against a schema of the document.
func checkSchema(t *testing.T, schema, body string) {
	t.Helper()
	doc, err := strict()
	if err != nil {
		t.Fatal(err)
	}
	v := into[any](t, answer{body: body})
	if err := doc.Components.Schemas[schema].Value.VisitJSON(v, openapi3.EnableJSONSchema2020()); err != nil {
		t.Errorf("%s is no %s: %v", body, schema, err)
	}
}
