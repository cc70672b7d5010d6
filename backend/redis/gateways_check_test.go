package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/session"
)

// No earlier fence is the newest again when somebody deletes the lock of a later holder, whose
// gateway has not seen that yet.
func TestCheckAfterTheLockIsDeleted(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	ms := gateways(t, s, 2, session.Config{})
	first, second := client(t, ms[0]), client(t, ms[1])
	take := func(c *session.Session) *session.Lease {
		g, err := c.Acquire(t.Context(), "x", session.Acquire{Wait: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return g.Lease
	}
	earlier := take(first).Fence()
	if _, err := first.Release(t.Context(), "x", 1, false, ""); err != nil {
		t.Fatal(err)
	}
	take(second)
	if n, err := s.Client().Del(t.Context(), "x").Result(); err != nil || n != 1 {
		t.Fatalf("deleted %d, %v", n, err)
	}
	err := ms[0].Check(t.Context(), "x", earlier)
	if e := (*session.Error)(nil); !errors.As(err, &e) || e.Code != session.CodeFenceMismatch {
		t.Errorf("check of the earlier fence: %v, want %s", err, session.CodeFenceMismatch)
	}
}
