package redis_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/backendtest"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// shared opens the nodes of one test of several that share a store and know nothing
// of each other: what they lock, and how they are called there, is theirs alone.
func shared(url, mark string) backendtest.Store {
	return func(t *testing.T, n backend.Node) backend.Backend {
		n.ID += mark
		b, err := redis.Open(t.Context(), redis.Config{URL: url, KeyPrefix: mark, FenceTTL: time.Hour, Node: n})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		return marked{b, mark}
	}
}

// marked tells nodes by the names that the test knows.
type marked struct {
	backend.Backend
	mark string
}

func (m marked) Inspect(ctx context.Context, name string) (backend.Status, error) {
	st, err := m.Backend.Inspect(ctx, name)
	st.Node = strings.TrimSuffix(st.Node, m.mark)
	for i := range st.Several {
		st.Several[i].Node = strings.TrimSuffix(st.Several[i].Node, m.mark)
	}
	return st, err
}

// marks gives each test of the suite one, and says which are in use.
type marks struct {
	last atomic.Int32
	mu   sync.Mutex // guards the field below
	used []string
}

func (m *marks) take(t *testing.T) string {
	mark := fmt.Sprintf("-%d-", m.last.Add(1))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used = append(m.used, mark)
	t.Cleanup(func() { m.drop(mark) })
	return mark
}

func (m *marks) drop(mark string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, used := range m.used {
		if used == mark {
			m.used = append(m.used[:i:i], m.used[i+1:]...)
		}
	}
}

func (m *marks) list() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.used...)
}

// The suite runs over three masters while the slots of its locks are moved from one
// to the next all the time.
func TestClusterBackendWhileSlotsMove(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	var m marks
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.Run("suite", func(t *testing.T) {
			backendtest.Run(t, func(t *testing.T) backendtest.Store { return shared(c.URL(), m.take(t)) })
		})
	}()
	owner := map[int64]int{} // index of Masters, by slot: names may share one
	for moves := 0; ; moves++ {
		for _, mark := range m.list() {
			key := mark + "a/b"
			slot, err := c.Masters[0].Client().ClusterKeySlot(t.Context(), key).Result()
			if err != nil {
				t.Fatal(err)
			}
			if _, known := owner[slot]; !known {
				owner[slot] = indexOf(c, c.Owner(key))
			}
			to := (owner[slot] + 1) % len(c.Masters)
			c.Move(key, c.Masters[owner[slot]], c.Masters[to])
			owner[slot] = to
		}
		select {
		case <-done:
			if moves < 10 {
				t.Errorf("the slots were moved %d times, want more", moves)
			}
			return
		case <-time.After(50 * time.Millisecond):
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
