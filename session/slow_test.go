package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// Where the store is slower than the lease lasts, nobody else is to blame for the refusal.
func TestRefusalBySlowStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		f.set(nil, func(string) error { time.Sleep(1200 * time.Millisecond); return nil })
		c := newCluster(t, 2, session.Config{}, hooked(f))
		for _, wait := range []time.Duration{0, 5 * time.Second} {
			_, err := c.open(0).Acquire(t.Context(), "x", session.Acquire{TTL: time.Second, Wait: wait})
			wantCode(t, err, session.CodeUnavailable)
			if err != nil && !strings.Contains(err.Error(), "longer ttl") {
				t.Errorf("wait %v: %v, want what to do about it", wait, err)
			}
		}
		time.Sleep(3 * time.Second) // what was granted in vain is given back
		mustAcquire(t, c.open(1), "x", session.Acquire{})
		_, err := c.open(0).Acquire(t.Context(), "x", session.Acquire{TTL: time.Second, Wait: 5 * time.Second})
		wantCode(t, err, session.CodeWaitTimeout)
	})
}

// That a store was slow once is no answer to who is refused for another reason, later.
func TestRefusalAfterASlowStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 1, session.Config{}, hooked(f))
		f.set(nil, func(string) error { time.Sleep(1200 * time.Millisecond); return nil })
		_, err := c.open(0).Acquire(t.Context(), "x", session.Acquire{TTL: time.Second})
		wantCode(t, err, session.CodeUnavailable)
		time.Sleep(10 * time.Second) // what was granted in vain is given back
		f.set(nil, func(string) error { time.Sleep(100 * time.Millisecond); return nil })
		first := wait(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
		_, err = c.open(0).Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeLocked)
		within(t, time.Second, first)
	})
}
