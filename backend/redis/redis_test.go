package redis_test

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// within waits for what has to come, at most 20 s.
func within(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20s: %s", what)
		}
	}
}

func indexOf(c *redistest.Cluster, s *redistest.Server) int {
	for i, m := range c.Masters {
		if m == s {
			return i
		}
	}
	return -1
}

func other(c *redistest.Cluster, s *redistest.Server) *redistest.Server {
	return c.Masters[(indexOf(c, s)+1)%len(c.Masters)]
}
