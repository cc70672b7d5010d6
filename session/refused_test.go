package session_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// Silence of a client that is refused connections says nothing after a restart either,
// whatever the client is counted by.
func TestNoSilenceWhileRefusedAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var refused atomic.Int64
		cfg := session.Config{Clock: fakeClock()}
		cfg.Refused = func(o session.Options) time.Duration {
			if o.Account != "token ci" {
				return 0
			}
			return time.Duration(refused.Load())
		}
		p := begin(t, memory.NewRows(), cfg)
		_, token := p.open(session.Options{Keepalive: 5 * time.Second, Account: "token ci", User: "token:ci"})
		p = p.restart()
		s := p.lookup(token)
		for range 3 {
			time.Sleep(4 * time.Second)
			refused.Store(int64(cfg.Clock()))
		}
		if s.Err() != nil {
			t.Errorf("ended while its client was refused: %v", s.Err())
		}
	})
}

// When to ask again counts from the refusal, and not from when the store has said it: it is not
// asked anew for each caller.
func TestRefusalSaysWhatIsLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		begin := time.Now()
		f := &faulty{before: always(&backend.Later{Err: fmt.Errorf("%w: a quarantine", backend.ErrRefused), After: 30 * time.Second})}
		c := newCluster(t, 1, session.Config{}, hooked(f))
		_ = wait(t, c.open(0), "x", session.Acquire{Wait: time.Minute}) // keeps what the store has said
		time.Sleep(10 * time.Second)
		_, err := c.open(0).Acquire(t.Context(), "x", session.Acquire{Wait: time.Second})
		wantCode(t, err, session.CodeUnavailable)
		var e *session.Error
		if errors.As(err, &e) && e.RetryAfter != 30*time.Second-time.Since(begin) {
			t.Errorf("try again in %v after %v of 30s", e.RetryAfter, time.Since(begin))
		}
	})
}

// What asks the store at once tells likewise, and what has come of it.
func TestStoreSaysWhenToAskAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 1, session.Config{}, hooked(f))
		s := c.open(0)
		mustAcquire(t, s, "x", session.Acquire{})
		later := always(&backend.Later{Err: fmt.Errorf("%w: it is left alone", backend.ErrUnavailable), After: 30 * time.Second})
		f.set(later, nil)
		_, renewal := s.Renew(t.Context(), "x", 1, time.Minute)
		for what, err := range map[string]error{
			"check": c.nodes[0].Check(t.Context(), "y", 1), "break": c.nodes[0].Break(t.Context(), "y", 1, "", "a test"), "renew": renewal,
		} {
			wantCode(t, err, session.CodeUnavailable)
			if e, ok := errors.AsType[*session.Error](err); ok && e.RetryAfter != 30*time.Second {
				t.Errorf("%s: try again in %v, want 30s", what, e.RetryAfter)
			}
		}
		f.set(nil, nil)
	})
}
