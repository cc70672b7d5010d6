package api

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/session"
)

// What is no HTTP is refused as everything else is, and the connection closed.
func TestMalformedHTTP(t *testing.T) {
	g := newGateway(t, session.Config{})
	for _, raw := range []string{
		"GET /v1/locks/%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", // R33
		"PUT /v1/locks/a\r\n\r\n",                               // HTTP/0.9
		"P(T /v1/locks/a HTTP/1.1\r\nHost: localhost\r\n\r\n",   // bad method
		"PUT /v1/locks/a HTTP/1.1\r\nHost: user@localhost\r\n\r\n",
		"PUT /v1/locks/a HTTP/1.1\r\n\r\n",                                                                // no Host
		"PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",                          // two
		"PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", // R21
		"PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",                       //
		"PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", // no chunk
		"PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\nna me: x\r\n\r\n",
		"PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\nExpect: a miracle\r\n\r\n",
		"PUT /v1/locks/a HTTP/2.0\r\nHost: localhost\r\n\r\n",
	} {
		g.unchanged(func() {
			w := g.wire()
			w.send(raw)
			a := w.answer()
			if p := refused(t, a, 400, session.CodeInvalid); p.Detail == "" || p.RequestID == "" || p.RequestID != a.header.Get(requestIDHeader) {
				t.Errorf("%q: %s, want why, and one request_id", raw, a.body)
			}
			if got := a.header.Get("Content-Type"); got != "application/problem+json" || !w.closed() {
				t.Errorf("%q: %s, or the connection is open; want a problem, and it closed", raw, got)
			}
			if _, err := http.ParseTime(a.header.Get("Date")); err != nil {
				t.Errorf("%q: no Date: %v", raw, err)
			}
		})
	}
}

// The answer to a HEAD has no body, also to one that is no HTTP: a client would take it for the
// beginning of the next answer.
func TestMalformedHead(t *testing.T) {
	g := newGateway(t, session.Config{})
	const whole = " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	for _, tt := range []struct {
		before string // requests that are answered as they should be
		raw    string
		status int
		body   bool
	}{
		{"", "HEAD /v1/locks/%zz" + whole, 400, false},
		{"", "HEAD /livez HTTP/1.1\r\n\r\n", 400, false}, // no Host
		{"", "HEAD /livez HTTP/1.1\r\nHost: localhost\r\nExpect: a miracle\r\n\r\n", 400, false},
		{"", "HEAD /livez HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", 501, false},
		{"", "HEAD /" + strings.Repeat("x", 32<<10), 431, false}, // its line does not end
		{"GET /livez" + whole, "HEAD /%zz" + whole + "GET /livez" + whole, 400, false},
		{"HEAD /livez" + whole, "GET /%zz" + whole, 400, true},
		{"", "GET /HEAD HTTP/1.1\r\nHEAD : x\r\n\r\n", 400, true},
	} {
		w := g.wire()
		w.send(tt.before + tt.raw)
		if method, _, found := strings.Cut(tt.before, " "); found {
			resp, err := http.ReadResponse(w.r, &http.Request{Method: method})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
		}
		a := w.answer()
		if a.status != tt.status || (a.body != "") != tt.body || !a.close || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%.60q after %.20q: %d %v %q, want %d, a body: %v", tt.raw, tt.before, a.status, a.header, a.body, tt.status, tt.body)
		}
	}
}

// HTTP without TLS, where that is spoken, is refused so, too.
func TestPlainHTTP(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer Listening{TLS: &tls.Config{}}.Listen(ln).Close()
	g := &gateway{t: t, tcp: ln.Addr().String()}
	w := g.wire()
	w.send("HEAD /v1/locks/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if a := w.answer(); a.status != 400 || a.body != "" {
		t.Errorf("HEAD: %d %q, want 400 without a body", a.status, a.body)
	}
	w = g.wire()
	w.send("PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if p := refused(t, w.answer(), 400, session.CodeInvalid); !strings.Contains(p.Detail, "https://") || !w.closed() {
		t.Errorf("detail = %q, want https://, and the connection closed", p.Detail)
	}
}

// These are HTTP of another kind than a client of ours sends.
func TestUnusualHTTP(t *testing.T) {
	g := newGateway(t, session.Config{})
	tests := []struct {
		raw    string
		status int
		code   session.Code
	}{
		{"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n", 404, codeNotFound},
		{"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n", 404, codeNotFound},
		{"TRACE /v1/locks/a HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, codeMethodNotAllowed},
		{"PUT /v1/locks/a HTTP/1.0\r\n\r\n", 421, codeHostNotAllowed}, // 1.0 needs no Host
		{"PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n", 501, session.CodeUnsupported},
		{"PUT http://evil.example/v1/locks/a HTTP/1.1\r\nHost: localhost\r\n\r\n", 421, codeHostNotAllowed}, // the URL counts
	}
	for _, tt := range tests {
		g.unchanged(func() {
			w := g.wire()
			w.send(tt.raw)
			refused(t, w.answer(), tt.status, tt.code)
		})
	}
}
