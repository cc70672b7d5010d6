package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/session"
)

// A name comes through as it was sent, byte for byte, and names are told apart.
func TestNames(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	tests := []struct{ path, name string }{
		{"a%2Fb", "a/b"},
		{"a%252Fb", "a%2Fb"},
		{"%252F", "%2F"},
		{"a%25252Fb", "a%252Fb"},
		{"..", ".."},
		{".", "."},
		{"%2E%2E%2Fx", "../x"},
		{"a+b", "a+b"},
		{"a%2Bb%2Fc", "a+b/c"},
		{"a+b%2Fc", "a+b/c"},
		{"a%7Bb%7Dc", "a{b}c"},
		{"*", "*"},
		{"%F0%9F%94%92", "🔒"},
		{"%C3%A9", "\u00e9"},   // NFC
		{"e%CC%81", "e\u0301"}, // NFD, another name
		{"a;b=c,d", "a;b=c,d"},
		{"a%3Fb%23c", "a?b#c"},
		{"%22%3C%5C", `"<\`},
		{"a%25zz", "a%zz"},
		{strings.Repeat("n", 255), strings.Repeat("n", 255)},
		{strings.Repeat("%F0%9F%94%92", 63) + "abc", strings.Repeat("🔒", 63) + "abc"},
	}
	fences := map[string]string{}
	for _, tt := range tests {
		a := g.do(request{method: "PUT", path: "/v1/locks/" + tt.path, token: token})
		l := into[lock](t, a)
		again := fences[tt.name] != ""
		if want := map[bool]int{false: 201, true: 200}[again]; a.status != want || l.Name != tt.name {
			t.Errorf("PUT %s: %d %q, want %d %q", tt.path, a.status, l.Name, want, tt.name)
		}
		fences[tt.name] = a.header.Get("Lockgw-Fence")
		if st := g.state(tt.path); st.Name != tt.name || st.State != session.StateHeld {
			t.Errorf("GET %s: %q %s, want %q held", tt.path, st.Name, st.State, tt.name)
		}
		g.must(200, request{method: "POST", path: "/v1/locks/" + tt.path + "/renew", token: token})
	}
}

// ".." may be sent encoded too; a client that cleans paths would not send it.
func TestDotsEncoded(t *testing.T) {
	g := newGateway(t, session.Config{})
	l := into[lock](t, g.must(201, request{method: "PUT", path: "/v1/locks/%2E%2E"}))
	if l.Name != ".." {
		t.Errorf("name = %q, want ..", l.Name)
	}
}

func TestBadNames(t *testing.T) {
	g := newGateway(t, session.Config{})
	var rows []badRequest
	for _, name := range []string{
		"", strings.Repeat("n", 256), strings.Repeat("%F0%9F%94%92", 64), "%00", "a%0Ab", "a%0D", "%1B", "%7F", "%C2%85", "%FF",
		"%C0%AF", "%ED%A0%80", "%20", "a%20", "%20a", "a%20b", "%C2%A0", "%E2%80%A8", "%7D%7B", "%7B%7D", "%7Ba%7D%7Bb%7D", "%7Ba",
		"lockgw:a", "redisson_a", "lockgw%3Aa",
	} {
		for _, method := range []string{"PUT", "DELETE", "GET"} {
			rows = append(rows, badRequest{request{method: method, path: "/v1/locks/" + name}, 400, session.CodeInvalid, "name: "})
		}
		for _, sub := range []string{"/renew", "/hold"} {
			rows = append(rows, badRequest{request{method: "POST", path: "/v1/locks/" + name + sub}, 400, session.CodeInvalid, "name: "})
		}
		rows = append(rows, badRequest{request{method: "GET", path: "/v1/locks/" + name + "/check?fence=1"}, 400, session.CodeInvalid, "name: "})
	}
	g.refuseAll(rows)
}

func TestNoSuchRoute(t *testing.T) {
	g := newGateway(t, session.Config{})
	var rows []badRequest
	for _, path := range []string{
		"/web", "/index.html", "/v1", "/v1/", "/v1/locks/a/b", "/v1/locks/a/b/renew", "/v1/locks/a/", "/v1/locks/a/../b", "//v1/locks/a", "/v1//locks/a", "/v1/lock",
		"/V1/locks/a", "/v1/locks%2Fa", "/v1/sessions/other/thing", "/v1/sessions/", "/docs/", "/livez/", "/debug/pprof/",
	} {
		for _, method := range []string{"GET", "PUT", "POST", "DELETE"} {
			rows = append(rows, badRequest{request{method: method, path: path}, 404, codeNotFound, ""})
		}
	}
	// it is told as it was sent: decoded it would be there
	rows = append(rows, badRequest{request{method: "GET", path: "/v1%2Flocks%2Fa"}, 404, codeNotFound, `there is no "/v1%2Flocks%2Fa"`})
	g.refuseAll(rows)
}

func TestWrongMethod(t *testing.T) {
	g := newGateway(t, session.Config{})
	tests := []struct {
		path, allow string
		methods     []string
	}{
		{"/v1/locks/a", "PUT, DELETE, GET, HEAD", []string{"POST", "PATCH", "OPTIONS", "TRACE"}},
		{"/v1/locks/a/renew", "POST", []string{"GET", "HEAD", "PUT", "DELETE"}},
		{"/v1/locks/a/hold", "POST", []string{"GET", "PUT", "OPTIONS"}},
		{"/v1/locks/a/check", "GET, HEAD", []string{"POST", "PUT"}},
		{"/v1/locks", "GET, HEAD", []string{"POST", "OPTIONS"}},
		{"/v1/sessions", "GET, HEAD, POST, DELETE", []string{"PUT", "PATCH"}},
		{"/v1/sessions/other", "DELETE", []string{"GET", "HEAD", "POST", "PUT"}},
		{"/v1/sessions/self", "GET, HEAD, DELETE", []string{"POST", "PUT", "OPTIONS"}},
		{"/v1/sessions/self/keepalive", "POST", []string{"GET", "HEAD"}},
		{"/livez", "GET, HEAD", []string{"POST", "OPTIONS", "FOO"}},
	}
	for _, tt := range tests {
		for _, method := range tt.methods {
			g.unchanged(func() {
				r := request{method: method, path: tt.path, header: http.Header{"Access-Control-Request-Method": {"PUT"}}}
				a := answer{}
				if method == http.MethodHead {
					if a = g.head(r); a.status != 405 {
						t.Errorf("HEAD %s = %d, want 405", tt.path, a.status)
					}
				} else {
					a = g.do(r)
					refused(t, a, 405, codeMethodNotAllowed)
				}
				if got := a.header.Get("Allow"); !sameWords(got, tt.allow) {
					t.Errorf("%s %s: Allow = %q, want %q", method, tt.path, got, tt.allow)
				}
			})
		}
	}
}

// head sends r, whose answer has no body.
func (g *gateway) head(r request) answer {
	g.t.Helper()
	r.method = http.MethodHead
	resp, err := g.client.Do(g.request(r))
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	return answer{status: resp.StatusCode, header: resp.Header}
}

// HEAD is answered as GET is, without the body: also with an error, and where GET
// would go on.
func TestHead(t *testing.T) {
	g := newGateway(t, session.Config{}, byToken)
	token := g.open()
	l := g.acquire("a", token)
	for _, r := range []request{
		{path: "/v1/locks/a"}, {path: "/v1/locks"}, {path: "/v1/locks/a/check?fence=1"}, {path: fmt.Sprintf("/v1/locks/a/check?fence=%d", l.Fence)},
		{path: "/v1/sessions", token: "sesame"}, {path: "/v1/sessions"}, {path: "/v1/sessions/self", token: token}, {path: "/v1/sessions/self"},
		{path: "/livez"}, {path: "/readyz"}, {path: "/version"}, {path: "/openapi.yaml"}, {path: "/"}, {path: "/docs"}, {path: "/web/app.js"},
		{path: "/web/nothing.js"}, {path: "/v1/nothing"},
	} {
		got := g.head(r)
		r.method = http.MethodGet
		want := g.do(r)
		for _, name := range []string{"Content-Type", "Etag", "Lockgw-Fence", "Content-Security-Policy", "Www-Authenticate"} {
			if got.status != want.status || got.header.Get(name) != want.header.Get(name) {
				t.Errorf("HEAD %s = %d, %s %q, want %d, %q", r.path, got.status, name, got.header.Get(name), want.status, want.header.Get(name))
			}
		}
	}
	for path, who := range map[string]string{"/v1/events": "sesame", "/v1/sessions/self/events": token} {
		if got := g.head(request{path: path, token: who}); got.status != 200 || got.header.Get("Content-Type") != sse {
			t.Errorf("HEAD %s = %d, %q, want 200, %s", path, got.status, got.header.Get("Content-Type"), sse)
		}
		if got := g.head(request{path: path}); got.status < 400 {
			t.Errorf("HEAD %s without a token = %d, want an error", path, got.status)
		}
	}
}

func sameWords(a, b string) bool {
	x, y := strings.Split(a, ", "), strings.Split(b, ", ")
	if len(x) != len(y) {
		return false
	}
	for _, w := range x {
		if !strings.Contains(", "+b+",", ", "+w+",") {
			return false
		}
	}
	return true
}

// A name whose / is not percent-encoded is no name, and what is before it is another lock.
func TestNoRouteNamesNoLock(t *testing.T) {
	p := refused(t, newGateway(t, session.Config{}).do(request{method: "GET", path: "/v1/locks/a/b/check?fence=1"}), 404, codeNotFound)
	if p.Lock != "" {
		t.Errorf("lock = %q, want none", p.Lock)
	}
}
