package api

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// wire is a connection on which a test speaks HTTP by hand.
type wire struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

func (g *gateway) wire() *wire {
	g.t.Helper()
	c, err := net.Dial("tcp", g.tcp)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return &wire{c, g.t, bufio.NewReader(c)}
}

func (w *wire) send(s string) {
	w.t.Helper()
	if _, err := io.WriteString(w, s); err != nil {
		w.t.Fatal(err)
	}
}

// answer reads one answer.
func (w *wire) answer() answer {
	w.t.Helper()
	resp, err := http.ReadResponse(w.r, nil)
	if err != nil {
		w.t.Fatalf("read the answer: %v", err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("read the answer: %v", err)
	}
	return answer{resp.StatusCode, resp.Header, string(b), resp.Close}
}

// closed: the server has closed the connection.
func (w *wire) closed() bool {
	_, err := w.r.ReadByte()
	return err != nil
}

// A client that has sent more than its request is not read any more, so that its
// end is seen only when it is to be told. What it was granted is given back.
func TestHangUpUnseen(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	for _, by := range []struct{ network, address, authorization string }{
		{"unix", g.unix, ""},
		{"unix", g.unix, "Authorization: Bearer " + token + "\r\n"},
		{"tcp", g.tcp, ""}, // where the kernel takes an answer that nobody will read
		{"tcp", g.tcp, "Authorization: Bearer " + token + "\r\n"},
	} {
		holder := g.acquire("a", "")
		c, err := net.Dial(by.network, by.address)
		if err != nil {
			t.Fatal(err)
		}
		w := &wire{c, t, bufio.NewReader(c)}
		w.send("PUT /v1/locks/a?wait=1m HTTP/1.1\r\nHost: localhost\r\n" + by.authorization + "\r\n")
		until(t, "the caller waits", func() bool { return g.m.Stats().Waiters == 1 })
		w.send("G")
		w.Close()
		g.must(200, request{method: "DELETE", path: "/v1/locks/a", token: holder.Token})
		until(t, "nothing is held, by a session or for it", func() bool {
			return g.m.Stats() == session.Stats{Sessions: 1} && g.state("a").State == session.StateFree // granted, and not told yet, is neither
		})
	}
}

func TestTooLarge(t *testing.T) {
	g := newGateway(t, session.Config{})
	const head = "PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	chunk := fmt.Sprintf("%x\r\n%s\r\n", 1<<15, strings.Repeat(" ", 1<<15))
	tests := []struct {
		what, raw string
		status    int
	}{
		{"declared body", head + "Content-Length: 65537\r\n\r\n", 413},
		{"body that is asked for first", head + "Content-Length: 65537\r\nExpect: 100-continue\r\n\r\n", 413},
		{"chunked body", head + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat(chunk, 3), 413},
		{"URL", "PUT /v1/locks/a?note=" + strings.Repeat("n", 2049) + " HTTP/1.1\r\nHost: localhost\r\n\r\n", 414},
		{"header", "PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\nx: " + strings.Repeat("x", 16<<10) + "\r\n\r\n", 431},
		{"headers", "PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("x: xxxxxxx\r\n", 1400) + "\r\n", 431},
	}
	for _, tt := range tests {
		g.unchanged(func() {
			w := g.wire()
			_, _ = io.WriteString(w, tt.raw) // the answer may come, and the end, before all is sent
			a := w.answer()
			if p := into[problem](t, a); a.status != tt.status || p.Code != codeTooLarge || p.Status != tt.status {
				t.Errorf("%s: %d %+v, want %d too_large", tt.what, a.status, p, tt.status)
			}
			if tt.status == 413 && !a.close {
				t.Errorf("%s: no Connection: close", tt.what)
			}
		})
	}
	// far beyond, net/http does not even read on
	w := g.wire()
	w.send("PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\nx: " + strings.Repeat("x", 32<<10))
	refused(t, w.answer(), 431, codeTooLarge)
	w = g.wire()
	w.send("PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\nx: " + strings.Repeat("x", 20<<10-100) + "\r\n\r\n")
	a := w.answer()
	if p := into[problem](t, a); a.status != 431 || p.Code != codeTooLarge {
		t.Errorf("just below 20 KiB of headers: %d %+v, want 431 too_large", a.status, p)
	}
	// what is just within the limits passes
	g.must(201, request{method: "PUT", path: "/v1/locks/b", body: "{" + strings.Repeat(" ", 64<<10-2) + "}"})
}

// A body that does not come ends the request, not the gateway.
func TestSlowBody(t *testing.T) {
	g := newGateway(t, session.Config{}, func(c *Config) { c.bodyTimeout = 50 * time.Millisecond })
	g.unchanged(func() {
		w := g.wire()
		w.send("PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{")
		p := refused(t, w.answer(), 400, session.CodeInvalid)
		if !strings.HasSuffix(p.Detail, "body: did not arrive whole within 50ms") || !w.closed() {
			t.Errorf("detail = %q, want body: did not arrive whole within 50ms, and the connection closed", p.Detail)
		}
		w = g.wire()
		w.send("PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
		p = refused(t, w.answer(), 400, session.CodeInvalid)
		if !strings.Contains(p.Detail, "body: did not arrive whole: invalid byte in chunk length") {
			t.Errorf("detail = %q, want what is wrong with the body, and not that it was late", p.Detail)
		}
	})
}

// What is refused for another reason is refused at once, whether or not its body
// comes.
func TestRefusedBeforeBody(t *testing.T) {
	g := newGateway(t, session.Config{}, func(c *Config) { c.bodyTimeout = time.Minute })
	g.unchanged(func() {
		for host, want := range map[string]session.Code{"evil.example": codeHostNotAllowed, "localhost\r\nOrigin: null": codeCrossOrigin} {
			w := g.wire()
			start := time.Now()
			w.send("PUT /v1/locks/a HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{")
			a := w.answer()
			if p := into[problem](t, a); p.Code != want || !a.close {
				t.Errorf("Host %s: code = %s, close %v, want %s, true", host, p.Code, a.close, want)
			}
			if d := time.Since(start); d > 20*time.Second {
				t.Errorf("Host %s: refused after %v, want at once", host, d)
			}
		}
	})
}

// An empty body is none, however it is sent.
func TestEmptyChunkedBody(t *testing.T) {
	g := newGateway(t, session.Config{})
	w := g.wire()
	w.send("PUT /v1/locks/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	if a := w.answer(); a.status != 201 {
		t.Errorf("status = %d, want 201; body %s", a.status, a.body)
	}
}

// A wait may be longer than the body's deadline: that must not be left behind.
func TestWaitAfterBody(t *testing.T) {
	g := newGateway(t, session.Config{}, func(c *Config) { c.bodyTimeout = 50 * time.Millisecond })
	g.acquire("a", "")
	a := g.do(request{method: "PUT", path: "/v1/locks/a", body: `{"wait":0.3}`})
	refused(t, a, 423, session.CodeWaitTimeout)
}

// A second request on a connection whose first one waits is served after it.
func TestPipelined(t *testing.T) {
	g := newGateway(t, session.Config{})
	g.acquire("a", "")
	w := g.wire()
	w.send("PUT /v1/locks/a?wait=0.1 HTTP/1.1\r\nHost: localhost\r\n\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
	refused(t, w.answer(), 423, session.CodeWaitTimeout)
	if a := w.answer(); a.status != 200 {
		t.Errorf("second answer = %d, want 200", a.status)
	}
}

// A client that closes its half while it waits has hung up. It still reads, and
// must not read a 200.
func TestHalfClosed(t *testing.T) {
	g := newGateway(t, session.Config{})
	g.acquire("a", "")
	w := g.wire()
	w.send("PUT /v1/locks/a?wait=1m HTTP/1.1\r\nHost: localhost\r\n\r\n")
	until(t, "the caller waits", func() bool { return g.m.Stats().Waiters == 1 })
	if err := w.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(w.r); len(b) > 0 || err != nil {
		t.Errorf("read %q, %v, want the end alone", b, err)
	}
	until(t, "nobody waits", func() bool { return g.m.Stats().Waiters == 0 })
}

// A client that has sent a byte too many is not read any more by net/http. That it hangs up
// ends its wait and its hold all the same, as soon as that of any other client.
func TestHangUpBehindMore(t *testing.T) {
	g := newGateway(t, session.Config{})
	const head = " HTTP/1.1\r\nHost: localhost\r\n"
	dial := func(network, addr string) *wire {
		c, err := net.Dial(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		return &wire{c, t, bufio.NewReader(c)}
	}
	for network, addr := range map[string]string{"tcp": g.tcp, "unix": g.unix} {
		held := g.acquire("a", "")
		for _, raw := range []string{
			"PUT /v1/locks/a?wait=2m" + head + "\r\n",
			"POST /v1/locks/a/hold" + head + "\r\n",
			"POST /v1/multilocks" + head + "Content-Type: application/json\r\nContent-Length: 27\r\n\r\n" + `{"names":["a"],"wait":"2m"}`,
		} {
			w := dial(network, addr)
			w.send(raw)
			until(t, "the caller waits", func() bool { return g.m.Stats().Waiters == 1 })
			w.send("\r\n")
			w.Close()
			until(t, "nobody waits", func() bool { return g.m.Stats() == session.Stats{Sessions: 1, Holds: 1} })
		}
		g.must(200, request{method: "DELETE", path: "/v1/locks/a", token: held.Token})
		w := dial(network, addr)
		w.send("POST /v1/locks/a/hold" + head + "\r\n")
		until(t, "the lock is held", func() bool { return g.m.Stats().Holds == 1 })
		w.send("\r\n")
		w.Close()
		until(t, "the lock is free", func() bool { return g.m.Stats() == session.Stats{} })
	}
}
