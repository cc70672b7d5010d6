package redis

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/backendtest"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// granting is a store that grants everything.
type granting struct {
	backend.Backend
	hint func(backend.Hint)
}

func (granting) Acquire(context.Context, backend.Request) (backend.Answer, error) {
	return backend.Answer{Granted: true}, nil
}
func (granting) Ping(context.Context) error     { return nil }
func (g *granting) Listen(f func(backend.Hint)) { g.hint = f }
func (granting) Close() error                   { return nil }

// server is what a Redis server says of its eviction.
type server struct {
	mu       sync.Mutex // guards the fields below
	eviction Eviction
	err      error
	asked    int
}

func (s *server) ask(context.Context) (Eviction, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return s.eviction, s.err
}

func (s *server) says(e Eviction, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eviction, s.err = e, err
}

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

var (
	safe     = Eviction{Policy: "noeviction", MaxMemory: 1}
	dropping = Eviction{Policy: "allkeys-lru", MaxMemory: 1}
)

// wantGate fails unless acquires and Ping are refused for a reason with the word why;
// "" means that they are not.
func wantGate(t *testing.T, g *Gate, why string) {
	t.Helper()
	a, err := g.Acquire(t.Context(), backend.Request{})
	for what, err := range map[string]error{"acquire": err, "ping": g.Ping(t.Context())} {
		switch {
		case why == "" && err != nil:
			t.Errorf("%s: err = %v, want nil", what, err)
		case why != "" && (!errors.Is(err, backend.ErrRefused) || errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), why)):
			t.Errorf("%s: err = %v, want %v with %q", what, err, backend.ErrRefused, why)
		}
	}
	if a.Granted != (why == "") {
		t.Errorf("granted = %v, want %v", a.Granted, why == "")
	}
}

func TestGateCheck(t *testing.T) {
	s := &server{err: backend.ErrUnreachable}
	g := NewGate(&granting{}, s.ask, slog.New(slog.DiscardHandler))
	wantGate(t, g, "has not said yet")
	for _, tt := range []struct {
		name     string
		eviction Eviction
		err      error
		why      string
		refuses  bool
	}{
		{"no answer yet", Eviction{}, backend.ErrUnreachable, "not reachable", false},
		{"no answer in time", Eviction{}, backend.ErrUnavailable, "has not said yet", false},
		{"not told", Eviction{}, nil, "", false},
		{"drops", dropping, nil, "allkeys-lru", true},
		{"still drops, as far as is known", Eviction{}, backend.ErrUnavailable, "allkeys-lru", false},
		{"mended", safe, nil, "", false},
		{"still safe, as far as is known", Eviction{}, backend.ErrUnavailable, "", false},
	} {
		s.says(tt.eviction, tt.err)
		if err := g.Check(t.Context()); (err != nil) != tt.refuses {
			t.Errorf("%s: check = %v, want an error: %v", tt.name, err, tt.refuses)
		}
		t.Run(tt.name, func(t *testing.T) { wantGate(t, g, tt.why) })
	}
	s.says(dropping, nil)
	_ = g.Check(t.Context())
	if a, err := g.Acquire(t.Context(), backend.Request{Repeat: true}); err != nil || !a.Granted {
		t.Errorf("a repeat = %+v, %v, want that the store is asked", a, err)
	}
}

// When the gate asks again, and what it logs.
func TestGateAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log journal
		s, store := &server{err: backend.ErrUnreachable}, &granting{}
		g := NewGate(store, s.ask, slog.New(slog.NewTextHandler(&log, nil)))
		var hints []backend.HintKind
		g.Listen(func(h backend.Hint) { hints = append(hints, h.Kind) })
		asks := func(when string, after time.Duration, n int, first ...backend.HintKind) {
			t.Helper()
			before := s.count()
			for _, kind := range first {
				store.hint(backend.Hint{Kind: kind})
			}
			time.Sleep(after)
			synctest.Wait()
			if got := s.count() - before; got != n {
				t.Errorf("%s: asked %d times in %v, want %d", when, got, after, n)
			}
		}
		logs := func(n int, text string) {
			t.Helper()
			if got := log.count(text); got != n {
				t.Errorf("%q was logged %d times, want %d", text, got, n)
			}
		}
		asks("no answer", 35*time.Second, 3)
		s.says(Eviction{}, nil)
		asks("no answer", 10*time.Second, 1)
		logs(1, "does not say")
		asks("not told", 2*time.Minute, 2)
		logs(1, "does not say")

		s.says(dropping, nil)
		asks("a new connection", time.Second, 1, backend.HintResync)
		wantGate(t, g, "allkeys-lru")
		asks("drops", 30*time.Second, 3)
		logs(1, "no new locks are granted")

		s.says(safe, nil)
		asks("drops", 10*time.Second, 1)
		wantGate(t, g, "")
		logs(1, "keeps no new ones from being granted")
		asks("safe", 3*time.Minute, 3, backend.HintFree)
		if len(hints) != 2 || hints[0] != backend.HintResync || hints[1] != backend.HintFree {
			t.Errorf("hints passed on = %v, want both", hints)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestGateIsBackend(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) backendtest.Store {
		s := redistest.Start(t)
		return func(t *testing.T, n backend.Node) backend.Backend {
			b, err := Open(t.Context(), Config{URL: s.URL(), FenceTTL: time.Hour, Node: n})
			if err != nil {
				t.Fatal(err)
			}
			g := NewGate(b, b.Eviction, slog.New(slog.DiscardHandler))
			t.Cleanup(func() { _ = g.Close() })
			if err := g.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			return g
		}
	})
}

// A policy that somebody sets is found at the next connection; what is held
// stays, and a server that is mended is trusted again.
func TestGateOfServer(t *testing.T) {
	s := redistest.Start(t, "--maxmemory", "100mb")
	b := openURL(t, s.URL())
	g := NewGate(b, b.Eviction, slog.New(slog.DiscardHandler))
	if err := g.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	resyncs := make(chan struct{}, 10)
	g.Listen(func(h backend.Hint) {
		if h.Kind == backend.HintResync {
			resyncs <- struct{}{}
		}
	})
	t.Cleanup(func() { _ = g.Close() })
	<-resyncs
	r := backend.Request{Name: "x", Seq: 1, Owner: "u:1", TTL: time.Minute, Turns: 1}
	a, err := g.Acquire(t.Context(), r)
	if err != nil || !a.Granted {
		t.Fatalf("acquire = %+v, %v", a, err)
	}

	reconnect := func(policy string) {
		t.Helper()
		configSet(t, s, "maxmemory-policy", policy)
		if err := s.Client().ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err(); err != nil {
			t.Fatal(err)
		}
	}
	reconnect("volatile-lru")
	refused := func() error {
		_, err := g.Acquire(t.Context(), backend.Request{Name: "y", Seq: 2, Owner: "u:2", TTL: time.Second, Turns: 1})
		return err
	}
	awaits(t, "new locks are refused", func() bool { return errors.Is(refused(), backend.ErrRefused) })
	if errs, err := g.Renew(t.Context(), []backend.Renewal{{Name: "x", Hold: a.Hold, TTL: time.Minute}}); err != nil || errs[0] != nil {
		t.Errorf("renew = %v, %v, want nil", errs, err)
	}
	r.Seq, r.Hold, r.Turn, r.Attempt = 3, a.Hold, a.Hold, 1
	if _, err := g.Release(t.Context(), r); err != nil {
		t.Errorf("release: err = %v, want nil", err)
	}
	if n := s.Client().Exists(t.Context(), "x").Val(); n != 0 {
		t.Errorf("x is there after its release")
	}
	reconnect("noeviction")
	awaits(t, "new locks are granted", func() bool { return !errors.Is(refused(), backend.ErrRefused) })
}

// A server that is not there at the start is asked as soon as it is.
func TestGateWithoutServer(t *testing.T) {
	s := redistest.Start(t)
	s.Kill()
	b := openURL(t, s.URL())
	g := NewGate(b, b.Eviction, slog.New(slog.DiscardHandler))
	if err := g.Check(t.Context()); err != nil {
		t.Errorf("check = %v, want nil", err)
	}
	g.Listen(func(backend.Hint) {})
	t.Cleanup(func() { _ = g.Close() })
	if err := g.Ping(t.Context()); !errors.Is(err, backend.ErrUnreachable) {
		t.Errorf("ping = %v, want %v", err, backend.ErrUnreachable)
	}
	s.Restart()
	awaits(t, "a lock is granted", func() bool {
		a, _ := g.Acquire(t.Context(), backend.Request{Name: "x", Seq: 1, Owner: "u:1", TTL: time.Minute, Turns: 1})
		return a.Granted
	})
}
