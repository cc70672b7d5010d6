package redis_test

import (
	"testing"

	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// within waits for what has to come.
func within(t *testing.T, what string, is func() bool) {
	t.Helper()
	redistest.Await(t, what, is)
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
