package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/backendtest"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/redlock"
)

// durable servers count from their start.
var durable = []string{"--appendonly", "yes", "--appendfsync", "always"}

func start(t *testing.T, n int, args ...string) []*redistest.Server {
	t.Helper()
	servers := make([]*redistest.Server, n)
	for i := range servers {
		servers[i] = redistest.Start(t, args...)
	}
	return servers
}

func urlOf(servers []*redistest.Server) string {
	addrs := make([]string, len(servers))
	for i, s := range servers {
		addrs[i] = s.Addr
	}
	return "redlock://" + strings.Join(addrs, ",")
}

func open(t *testing.T, url, prefix string, n backend.Node) *redlock.Backend {
	t.Helper()
	b, err := redlock.Open(t.Context(), redlock.Config{URL: url, KeyPrefix: prefix, FenceTTL: time.Hour, Node: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// One set of servers for all tests; a prefix keeps their keys apart, and the IDs of
// nodes their messages.
func TestBackend(t *testing.T) {
	url := urlOf(start(t, 5, durable...))
	var stores atomic.Int64
	backendtest.Run(t, func(*testing.T) backendtest.Store {
		prefix := fmt.Sprintf("t%d:", stores.Add(1))
		return func(t *testing.T, n backend.Node) backend.Backend {
			id := n.ID
			n.ID = prefix[:len(prefix)-1] + "-" + id
			return renamed{open(t, url, prefix, n), n.ID, id}
		}
	})
}

// renamed tells an ID of a node as the suite knows it.
type renamed struct {
	backend.Backend
	from, to string
}

func (b renamed) Inspect(ctx context.Context, name string) (backend.Status, error) {
	st, err := b.Backend.Inspect(ctx, name)
	st.Node = strings.TrimPrefix(st.Node, strings.TrimSuffix(b.from, b.to))
	return st, err
}
