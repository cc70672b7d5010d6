package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// Who names a fence releases that hold and no other, its own as little as that of somebody
// else.
func TestReleaseOfTheSeenFence(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	l := g.acquire("a", token)
	release := func(path, fence, key string) request {
		r := request{method: "DELETE", path: path, token: token, header: http.Header{"If-Match": {fence}}}
		if key != "" {
			r.header.Set("Idempotency-Key", key)
		}
		return r
	}
	other := fmt.Sprintf(`"%d"`, l.Fence+1)
	for _, path := range []string{"/v1/locks/a", "/v1/locks/a?all=true"} {
		refused(t, g.do(release(path, other, "")), 412, session.CodeFenceMismatch)
		refused(t, g.do(release(path, other, "k"+path)), 412, session.CodeFenceMismatch)
		refused(t, g.do(release(path, "nonsense", "")), 400, session.CodeInvalid)
	}
	if again := g.acquire("a", token); again.Count != 2 || again.Fence != l.Fence {
		t.Errorf("after refusals there is %+v, want the same hold, entered twice", again)
	}
	own := fmt.Sprintf(`"%d"`, l.Fence)
	g.must(200, release("/v1/locks/a", own, "k"))
	g.must(200, release("/v1/locks/a", own, "k"))
	refused(t, g.do(release("/v1/locks/a", other, "k")), 409, session.CodeConflict)
	g.must(200, release("/v1/locks/a", own, ""))
	if got := g.acquire("a", token); got.Count != 1 || got.Fence == l.Fence {
		t.Errorf("after the releases there is %+v, want a new hold", got)
	}
}

// What is given back because nobody could be told of it is what was granted then, not what the
// same owner has got by another request meanwhile.
func TestGiveBackOfWhatWasGranted(t *testing.T) {
	for path, method := range map[string]string{"/v1/locks/a": "PUT", "/v1/locks/a/hold": "POST"} {
		t.Run(path, func(t *testing.T) {
			g := newGateway(t, session.Config{})
			token := g.open()
			var newer lock
			broken := NewServer(New(Config{Manager: g.m}))
			answered, inner := make(chan bool), broken.Handler
			broken.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(answered)
				ctx, cancel := context.WithTimeout(r.Context(), time.Second)
				defer cancel()
				inner.ServeHTTP(&brokenPipe{w, func() {
					g.must(200, request{method: "DELETE", path: "/v1/locks/a", token: token})
					newer = g.acquire("a", token)
				}}, r.WithContext(ctx))
			})
			ln := listen(t, "tcp", "127.0.0.1:0")
			served := make(chan error, 1)
			go func() { served <- broken.Serve(ln) }()
			r := g.request(request{method: method, path: path, token: token})
			r.URL.Host, r.Host = ln.Addr().String(), ""
			if resp, err := g.client.Do(r); err == nil {
				resp.Body.Close()
			}
			<-answered
			_ = broken.Close()
			<-served
			again := g.acquire("a", token)
			if newer.Fence == 0 || again.Fence != newer.Fence || again.Count != 2 {
				t.Errorf("after %+v there is %+v, want the same hold, entered twice", newer, again)
			}
		})
	}
}

// brokenPipe takes an answer and cannot send it.
type brokenPipe struct {
	http.ResponseWriter
	before func() // called at the first Write
}

func (w *brokenPipe) Write(b []byte) (int, error) {
	if f := w.before; f != nil {
		w.before = nil
		f()
	}
	return w.ResponseWriter.Write(b)
}

func (w *brokenPipe) FlushError() error { return errors.New("broken pipe") }

func (w *brokenPipe) Unwrap() http.ResponseWriter { return w.ResponseWriter }
