package breaker_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/breaker"
	"github.com/lockgw/lockgw/backend/ledger"
)

// asked is a store that never answers but to pings, as ping says.
type asked struct {
	ledger.Table
	ping  func() error
	pings atomic.Int32
}

func (a *asked) Join(context.Context, string, ledger.Entry, backend.Fence) (ledger.Reply, error) {
	return ledger.Reply{}, errGone
}

func (a *asked) Ping(context.Context) error { a.pings.Add(1); return a.ping() }

func (a *asked) Close() error { return nil }

// Whom nobody asks for a lock any more finds out by itself that the store is back, and each part of
// it that is not closed is then, for a server that has left has no more names of which one could ask.
func TestFindsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var back atomic.Bool
		h := &asked{ping: func() error {
			if back.Load() {
				return nil
			}
			return errGone
		}}
		gate := breaker.Parts(h, func(_ context.Context, name string) string { return name }, h.Ping, slog.New(slog.DiscardHandler))
		defer gate.Close()
		for range 5 {
			for _, name := range []string{"bad", "left"} {
				_, _ = gate.Join(t.Context(), name, ledger.Entry{}, 0)
			}
		}
		time.Sleep(time.Minute)
		if now, opened := breaker.StateOf(gate); now != breaker.HalfOpen || opened != 2 {
			t.Errorf("state = %v, opened %d times while the store is down, want half-open, twice", now, opened)
		}
		back.Store(true)
		time.Sleep(11 * time.Second)
		if now, opened := breaker.StateOf(gate); now != breaker.Closed || opened != 2 {
			t.Errorf("state = %v, opened %d times since the store is back, want closed, twice", now, opened)
		}
		pings := h.pings.Load()
		time.Sleep(time.Minute)
		if n := h.pings.Load(); n != pings {
			t.Errorf("the store was asked %d times though all is well", n-pings)
		}
	})
}

// Once it is closed it asks no more, and begins nothing.
func TestCloseEndsTheLookout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &asked{ping: func() error { return errGone }}
		gate := breaker.New(h, h.Ping, slog.New(slog.DiscardHandler))
		fail := func() {
			for range 5 {
				_, _ = gate.Join(t.Context(), "bad", ledger.Entry{}, 0)
			}
		}
		fail()
		time.Sleep(15 * time.Second)
		if h.pings.Load() != 1 {
			t.Fatalf("asked %d times in 15 s, want once", h.pings.Load())
		}
		if err := gate.Close(); err != nil {
			t.Fatal(err)
		}
		fail()
		time.Sleep(time.Minute)
		if n := h.pings.Load(); n != 1 {
			t.Errorf("asked %d times after it was closed", n-1)
		}
	})
}
