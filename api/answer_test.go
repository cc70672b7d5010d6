package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/session"
)

// timed is a ResponseWriter that remembers its deadline.
type timed struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (w *timed) SetWriteDeadline(t time.Time) error {
	w.deadline = t
	return nil
}

// A client that does not read holds up nothing for longer than the deadline.
func TestWriteDeadline(t *testing.T) {
	answer := &timed{ResponseRecorder: httptest.NewRecorder()}
	writeJSON(answer, 200, struct{}{})
	events := &timed{ResponseRecorder: httptest.NewRecorder()}
	c, _ := ginContext(&http.Request{Header: http.Header{}})
	s := newStream(c)
	s.w = ginWriter{c.Writer, events}
	s.comment(keepalive)
	for what, w := range map[string]*timed{"answer": answer, "event": events} {
		if in := time.Until(w.deadline); in <= 0 || in > writeTimeout {
			t.Errorf("%s: the deadline is in %v, want within %v", what, in, writeTimeout)
		}
	}
}

func TestFenceHeaders(t *testing.T) {
	header := http.Header{}
	if fenceHeaders(header, 0); len(header) != 0 {
		t.Errorf("headers of no fence = %v, want none", header)
	}
	fenceHeaders(header, 7)
	if header.Get("ETag") != `"7"` || header.Get("Lockgw-Fence") != "7" {
		t.Errorf("headers of fence 7 = %v, want ETag and Lockgw-Fence", header)
	}
}

// The clock of the holder's machine may be ahead.
func TestHolderFromTheFuture(t *testing.T) {
	h := holderOf(&session.Holder{Owner: "u:1", Peer: session.NoPeer(), Since: time.Now().Add(time.Minute)})
	if h.HeldMS != 0 {
		t.Errorf("held_ms = %d, want 0", h.HeldMS)
	}
}

// An error says which lock it is about, as far as the path names one.
func TestProblemNamesLock(t *testing.T) {
	g := newGateway(t, session.Config{})
	for path, want := range map[string]string{"/v1/locks/a%2Fb?ttl=0": "a/b", "/v1/locks/%00?ttl=0": "", "/v1/sessions?x": ""} {
		for _, method := range []string{"PUT", "POST"} {
			if a := g.do(request{method: method, path: path}); a.status == 400 && into[problem](t, a).Lock != want {
				t.Errorf("%s %s: lock = %q, want %q", method, path, into[problem](t, a).Lock, want)
			}
		}
	}
}

// So does one about a request that is not let in.
func TestProblemNamesLockAtTheDoor(t *testing.T) {
	g := newGateway(t, session.Config{})
	for status, header := range map[int]http.Header{
		403: {"Origin": {"http://evil.example"}}, 415: {"Content-Type": {"text/plain"}}, 431: {"X-Long": {strings.Repeat("x", 17<<10)}},
	} {
		for path, want := range map[string]string{"/v1/locks/a%2Fb": "a/b", "/v1/locks/a%2Fb/hold": "a/b", "/v1/sessions": ""} {
			a := g.do(request{method: "POST", path: path, header: header, body: "{}"})
			if p := into[problem](t, a); a.status != status || p.Lock != want {
				t.Errorf("%s: %d of lock %q, want %d of %q", path, a.status, p.Lock, status, want)
			}
		}
	}
}

// ginWriter is the router's writer over another one.
type ginWriter struct {
	gin.ResponseWriter
	under http.ResponseWriter
}

func (w ginWriter) Unwrap() http.ResponseWriter { return w.under }
