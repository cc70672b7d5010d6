package history_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// redlockStore is several Redis servers, each with a disk of its own. What befalls the store
// befalls one of them at a time, as Redlock takes no more: one that was restarted takes no part
// for a while, and of three no other one may be missing meanwhile.
type redlockStore struct {
	t       testing.TB
	servers []redisStore

	mu      sync.Mutex    // guards the fields below
	next    int           // who is hit next
	longest time.Duration // lease
	back    time.Time     // the one that was restarted takes part again
	out     int           // that one
	paused  int
}

func startRedlock(t testing.TB, n int) store {
	s := &redlockStore{t: t}
	for range n {
		s.servers = append(s.servers, redisStore{redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always"), t})
	}
	return s
}

func (s *redlockStore) server() string {
	var addrs []string
	for _, one := range s.servers {
		addrs = append(addrs, one.Addr)
	}
	return strings.Join(addrs, ",")
}

func (s *redlockStore) config(addr string, in scenario) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.longest = in.ttl[1]
	return fmt.Sprintf(`{url: "redlock://%s?max_ttl=%v"}`, addr, s.longest)
}

func (*redlockStore) listens(chunk []byte) bool { return subscribes(chunk) }

func (*redlockStore) scripts(testing.TB) int64 { return 0 }

// left is what most servers have. One that was away has not heard of the end of what it has,
// and forgets it with the lease.
func (s *redlockStore) left(ctx context.Context) (left []string) {
	found, text := map[string]int{}, map[string]string{}
	for _, one := range s.servers {
		for _, l := range one.left(ctx) {
			key, _, _ := strings.Cut(l, " ")
			found[key]++
			text[key] = l
		}
	}
	for key, n := range found {
		if n > len(s.servers)/2 {
			left = append(left, text[key])
		}
	}
	return left
}

// victim is the next server that may be hit.
func (s *redlockStore) victim() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.servers) < 5 && time.Now().Before(s.back) {
		return s.out
	}
	s.next = (s.next + 1) % len(s.servers)
	return s.next
}

func (s *redlockStore) Pause() {
	s.paused = s.victim()
	s.servers[s.paused].Pause()
}

func (s *redlockStore) Resume() { s.servers[s.paused].Resume() }

func (s *redlockStore) slow(d time.Duration) { s.servers[s.victim()].slow(d) }

func (s *redlockStore) upset() {
	for _, one := range s.servers {
		one.upset()
	}
}

func (s *redlockStore) cut() {
	for _, one := range s.servers {
		one.cut()
	}
}

// grace is by how much longer than max_ttl a server takes no part, with room for a gateway that
// notices late.
const grace = 15 * time.Second

// restart kills one server, which comes back with what it had or, every other time, with nothing.
func (s *redlockStore) restart() bool {
	s.mu.Lock()
	if time.Now().Before(s.back) {
		s.mu.Unlock()
		return false
	}
	s.next = (s.next + 1) % len(s.servers)
	s.out = s.next
	s.back = time.Now().Add(s.longest + grace)
	empty := s.next%2 == 1
	s.mu.Unlock()
	if one := s.servers[s.out]; empty {
		one.RestartEmpty()
	} else {
		one.Server.Restart()
	}
	return true
}

// forget is what no majority may do.
func (s *redlockStore) forget() {
	for _, one := range s.servers {
		one.RestartEmpty()
	}
}
