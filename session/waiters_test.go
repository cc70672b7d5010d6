package session_test

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// The limit is of those who wait at this node, be it in one queue or each by itself.
func TestWaitersPerLock(t *testing.T) {
	for name, tt := range map[string]struct {
		strict bool
		a      session.Acquire
	}{
		"exclusive": {false, session.Acquire{}},
		"strict":    {true, session.Acquire{}},
		"semaphore": {false, session.Acquire{Limit: 1}},
		"shared":    {false, session.Acquire{Shared: true}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 1, session.Config{Fairness: session.Fairness{Strict: tt.strict}, Limits: session.Limits{WaitersPerLock: 3}}, nil)
				holder, a := c.open(0), tt.a
				a.Wait = time.Minute
				mustAcquire(t, holder, "x", session.Acquire{Limit: a.Limit})
				var waiters []<-chan *session.Lease
				for range 3 {
					waiters = append(waiters, wait(t, c.open(0), "x", a))
				}
				late := c.open(0)
				_, err := late.Acquire(t.Context(), "x", a)
				wantCode(t, err, session.CodeTooManyWaiters)
				mustRelease(t, holder, "x")
				within(t, time.Second, waiters[0])
				wait(t, late, "x", a)
				if n := c.nodes[0].Stats().Waiters; !a.Shared && n != 3 {
					t.Errorf("%d waiters, want 3: there was room again", n)
				}
			})
		})
	}
}
