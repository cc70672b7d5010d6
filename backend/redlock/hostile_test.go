package redlock_test

import (
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// A few bytes can announce a reply for which there is not enough memory: a larger one than
// this ended the process.
func TestHugeReplyIsRefused(t *testing.T) {
	t.Parallel()
	var addrs []string
	for range 3 {
		addrs = append(addrs, redistest.Answers(t, "*16000000\r\n"))
	}
	b := open(t, "redlock://"+strings.Join(addrs, ","), "", backend.Node{ID: "a", Incarnation: 1})
	b.Listen(func(backend.Hint) {})
	if _, err := b.Acquire(t.Context(), request(1)); err == nil || !strings.Contains(err.Error(), "is this a Redis server?") {
		t.Errorf("acquire = %v, want an error about the reply", err)
	}
}
