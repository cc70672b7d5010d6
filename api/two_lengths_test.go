package api

import (
	"strings"
	"testing"

	"github.com/lockgw/lockgw/session"
)

// Nobody may read one request where somebody else reads two.
func TestTwoLengths(t *testing.T) {
	g := newGateway(t, session.Config{})
	const head = "PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for _, raw := range []string{
		head + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/locks HTTP/1.1\r\n",
		"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" + head + "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n",
		head + "Content-Length:" + strings.Repeat(" ", 200) + "2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		head + "Content-Length:\r\n 2\r\n\r\n{}",
	} {
		g.unchanged(func() {
			w := g.wire()
			w.send(raw)
			a := w.answer()
			if strings.HasPrefix(raw, "GET") {
				if a.status != 200 {
					t.Errorf("the request before it: %d, want 200", a.status)
				}
				a = w.answer()
			}
			p := refused(t, a, 400, session.CodeInvalid)
			if !strings.Contains(p.Detail, "Content-Length: was sent together with Transfer-Encoding") || !w.closed() {
				t.Errorf("detail = %q, want what is wrong, and the connection closed", p.Detail)
			}
		})
	}
}

// After a chunked body the connection is closed, because what follows is not looked at.
func TestChunkedEndsConnection(t *testing.T) {
	g := newGateway(t, session.Config{})
	w := g.wire()
	w.send("PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
	if a := w.answer(); a.status != 201 || !a.close {
		t.Errorf("status = %d, close %v, want 201 and the connection closed", a.status, a.close)
	}
}

// HTTP/1.0 has no Transfer-Encoding: net/http would see no body, and read it as the next request.
func TestChunkedInOldHTTP(t *testing.T) {
	g := newGateway(t, session.Config{})
	for _, before := range []string{"", "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"} {
		g.unchanged(func() {
			w := g.wire()
			w.send(before + "PUT /v1/locks/a HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n" +
				"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nf\r\n{\"renew\":false}\r\n0\r\n\r\n")
			a := w.answer()
			if before != "" {
				a = w.answer()
			}
			p := refused(t, a, 400, session.CodeInvalid)
			if !strings.Contains(p.Detail, "Transfer-Encoding: is not for HTTP/1.0") || !w.closed() {
				t.Errorf("detail = %q, want what is wrong, and the connection closed", p.Detail)
			}
		})
	}
}
