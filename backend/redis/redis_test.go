package redis_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/backendtest"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

func openWith(ctx context.Context, url, prefix string) (*redis.Backend, error) {
	return redis.Open(ctx, redis.Config{URL: url, KeyPrefix: prefix, FenceTTL: time.Hour, Node: backend.Node{ID: "n", Incarnation: 1}})
}

func open(t *testing.T, s *redistest.Server, prefix string, n backend.Node) *redis.Backend {
	t.Helper()
	b, err := redis.Open(t.Context(), redis.Config{URL: s.URL(), KeyPrefix: prefix, FenceTTL: time.Hour, Node: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func TestBackend(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) backendtest.Store {
		s := redistest.Start(t)
		return func(t *testing.T, n backend.Node) backend.Backend { return open(t, s, "", n) }
	})
}

// A prefix belongs to the keys in Redis, not to the name.
func TestKeyPrefix(t *testing.T) {
	s := redistest.Start(t)
	rdb, ctx := s.Client(), t.Context()
	b := open(t, s, "app:", backend.Node{ID: "n", Incarnation: 1})
	hints := make(chan backend.Hint, 100)
	b.Listen(func(h backend.Hint) { hints <- h })
	if a, err := b.Acquire(ctx, request("x", 1)); err != nil || !a.Granted {
		t.Fatalf("acquire = %+v, %v", a, err)
	}
	if rdb.HLen(ctx, "app:x").Val() != 1 || rdb.Exists(ctx, "redisson_lock_token:{app:x}", "lockgw:{app:x}:s").Val() != 2 {
		t.Errorf("keys = %v, want those of app:x", rdb.Keys(ctx, "*").Val())
	}
	items, _, err := b.List(ctx, "", "", 10)
	if err != nil || len(items) != 1 || items[0].Name != "x" {
		t.Errorf("list = %+v, %v, want x", items, err)
	}
	rdb.HSet(ctx, "app:y", "java:1", 1)
	if a, err := b.Acquire(ctx, request("y", 2)); err != nil || !a.Queued {
		t.Fatalf("acquire = %+v, %v, want queued", a, err)
	}
	if h := hears(t, hints, backend.HintFree); h.Name != "y" {
		t.Errorf("hint = %+v, want one about y", h)
	}
}
