package breaker_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/breaker"
)

// half is a store of which the part "bad" does not answer.
type half struct {
	backend.Backend
	asked atomic.Int32
}

func (h *half) Acquire(_ context.Context, r backend.Request) (backend.Answer, error) {
	h.asked.Add(1)
	if r.Name == "bad" {
		return backend.Answer{}, errGone
	}
	return backend.Answer{Granted: true}, nil
}

// A part that does not answer is left alone, and no other.
func TestParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &half{}
		gate := breaker.Parts(h, func(_ context.Context, name string) string { return name }, slog.New(slog.DiscardHandler))
		ask := func(name string) error {
			_, err := gate.Acquire(t.Context(), backend.Request{Name: name})
			return err
		}
		for range 20 {
			_ = ask("bad")
		}
		if n := h.asked.Load(); n != 5 {
			t.Errorf("the part was asked %d times, want 5", n)
		}
		if err := ask("bad"); !errors.Is(err, backend.ErrRefused) {
			t.Errorf("err = %v, want %v", err, backend.ErrRefused)
		}
		if err := ask("good"); err != nil {
			t.Errorf("the other part: err = %v, want a grant", err)
		}
		if now, opened := breaker.StateOf(gate); now != breaker.Open || opened != 1 {
			t.Errorf("state = %v, opened %d times, want open, once", now, opened)
		}
		time.Sleep(3 * time.Second)
		if now, _ := breaker.StateOf(gate); now != breaker.HalfOpen {
			t.Errorf("state = %v, want half-open", now)
		}
	})
}
