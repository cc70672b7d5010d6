package redlock_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend"
)

// A counter that is no number below 2^53 is told, with the remedy, and its server does not
// vote: two grants would have the same fence. The others grant without it.
func TestCounterThatIsNone(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	b := ready(t, open(t, urlOf(servers), "", backend.Node{ID: "a", Incarnation: 1}))
	ctx := t.Context()
	const counter = "redisson_lock_token:{x}"
	seq := uint64(0)
	next := func() backend.Request {
		seq++
		return request(seq)
	}
	for _, text := range []string{"9223372036854775807", "9007199254740992", "nonsense", "-1"} {
		for n := 1; n <= 2; n++ {
			for _, s := range servers[:n] {
				s.Client().Set(ctx, counter, text, 0)
			}
			r := next()
			r.Queue = false
			a, err := b.Acquire(ctx, r)
			if n == 2 {
				if !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "the key "+counter) || !strings.Contains(err.Error(), "delete") {
					t.Errorf("%s on %d servers: %+v, %v, want a refusal that says what to do", text, n, a, err)
				}
				continue
			}
			if err != nil || a.Hold > backend.MaxFence/2 {
				t.Errorf("%s on %d server: %+v, %v, want a grant by the others", text, n, a, err)
			}
			r = next()
			r.Hold, r.Queue = a.Hold, false
			if _, err := b.Release(ctx, r); err != nil {
				t.Errorf("%s on %d server: release: %v", text, n, err)
			}
		}
		for _, s := range servers {
			s.Client().Del(ctx, counter)
		}
	}
	if a, err := b.Acquire(ctx, next()); err != nil || a.Hold > backend.MaxFence/2 {
		t.Errorf("after the remedy: %+v, %v", a, err)
	}
}
