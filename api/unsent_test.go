package api

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/session"
)

// unsent is the writer of a connection that does not take what is written any more.
type unsent struct{ http.ResponseWriter }

func (w unsent) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w unsent) FlushError() error { return errors.New("broken pipe") }

// What was granted to a client that cannot be told of it is given back, with or without a session
// of its own.
func TestGrantThatCannotBeSent(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	srv := NewServer(New(Config{Manager: g.m}))
	inner := srv.Handler
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { inner.ServeHTTP(unsent{w}, r) })
	ln := listen(t, "tcp", "127.0.0.1:0")
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ln) }()
	t.Cleanup(func() {
		_ = srv.Close()
		<-done
	})
	broken := *g
	broken.tcp = ln.Addr().String()
	for _, token := range []string{token, ""} {
		for _, r := range []request{
			{method: "PUT", path: "/v1/locks/x", token: token},
			{method: "POST", path: "/v1/multilocks", body: `{"names":["y","z"]}`, token: token},
		} {
			broken.must(201, r) // which comes once the request is over
			if n := g.m.Stats().Holds; n != 0 {
				t.Errorf("%s with a session of its own %v: %d are held", r.path, token == "", n)
			}
		}
	}
	for held, r := range map[int]request{ // whose client asks again
		1: {method: "PUT", path: "/v1/locks/x", token: token, header: http.Header{"Idempotency-Key": {"one"}}},
		2: {method: "POST", path: "/v1/multilocks", body: `{"names":["y","z"]}`, token: g.open(), header: http.Header{"Idempotency-Key": {"two"}}},
	} {
		before := g.m.Stats().Holds
		broken.must(201, r)
		if n := g.m.Stats().Holds - before; n != held {
			t.Errorf("%s with a key: %d are held, want %d", r.path, n, held)
		}
	}
}

// A request that has got nothing ends the session that was opened for it, and no other.
func TestSessionOfAFailedRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		m := session.New(newStore(), session.Config{Node: "a", Clock: func() time.Duration { return time.Since(began) + time.Hour }})
		for _, key := range []string{"", "k"} {
			for _, own := range []bool{false, true} {
				s, _, err := m.Open(session.Options{Peer: session.NoPeer()})
				if err != nil {
					t.Fatal(err)
				}
				cl := claim{sess: s, own: own, names: []string{"x"}, acquire: session.Acquire{Key: key}}
				cl.giveUp(t.Context(), nil, "a test")
				if key != "" && s.Err() != nil {
					t.Error("it is over before its client can ask again")
				}
				time.Sleep(time.Hour)
				if (s.Err() != nil) != own {
					t.Errorf("key %q, its own session %v: %v", key, own, s.Err())
				}
			}
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
