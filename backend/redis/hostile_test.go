package redis_test

import (
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// A few bytes can announce a reply for which there is not enough memory: a larger one than
// this ended the process. They may come in place of a server or in place of a Sentinel.
func TestHugeReplyIsRefused(t *testing.T) {
	t.Parallel()
	addr := redistest.Answers(t, "*16000000\r\n")
	for _, url := range []string{"redis://" + addr, "redis+sentinel://" + addr + "/locks", "redis+cluster://" + addr} {
		b, err := redis.OpenTable(redis.Config{URL: url, Node: backend.Node{ID: "a"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		b.Listen(func(ledger.Addressed) {})
		_, err = b.Look(t.Context(), "x")
		if err == nil || strings.HasPrefix(url, "redis://") && !strings.Contains(err.Error(), "is this a Redis server?") {
			t.Errorf("%s: look = %v, want an error about the reply", url, err)
		}
		if err := b.Ping(t.Context()); err == nil {
			t.Errorf("%s: ping: no error", url)
		}
	}
}
