package redis_test

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/session"
)

// A hold that the store has forgotten is written down again by its gateway, with the same
// fence, and nobody else is granted the name meanwhile.
func TestForgottenHoldIsRestored(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]session.Acquire{
		"exclusive": {}, "fixed": {Fixed: true}, "shared": {Shared: true}, "semaphore": {Limit: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			ms := gateways(t, s, 2, session.Config{TTL: 8 * time.Second})
			holder, other := client(t, ms[0]), client(t, ms[1])
			g, err := holder.Acquire(t.Context(), "x", a)
			if err != nil {
				t.Fatal(err)
			}
			fence := g.Lease.Fence()
			s.RestartEmpty()
			within(t, "the lock is there again", func() bool { return s.Client().Exists(t.Context(), "x").Val() == 1 })
			within(t, "the holder is shown", func() bool {
				st, err := ms[1].Inspect(t.Context(), "x")
				return err == nil && st.State == session.StateHeld && st.Fence >= fence && st.Holder.Owner == g.Lease.Owner()
			})
			if v, err := g.Lease.View(); err != nil || v.Fence != fence {
				t.Errorf("hold = %+v, %v, want fence %d as before", v, err, fence)
			}
			if _, err := other.Acquire(t.Context(), "x", session.Acquire{}); err == nil {
				t.Error("another was granted the name")
			}
			if _, err := holder.Release(t.Context(), "x", 1, false, ""); err != nil {
				t.Errorf("release: %v", err)
			}
		})
	}
}
