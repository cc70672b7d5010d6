package redlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// gateway is a Manager over the nodes, as a gateway has it.
func gateway(t *testing.T, url, id string, ttl time.Duration) *session.Manager {
	t.Helper()
	b := open(t, url, "", backend.Node{ID: id, Incarnation: 1})
	m := session.New(b, session.Config{Node: id, TTL: ttl})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		_ = m.Close(ctx) // with nodes down it may not be able to release
	})
	eventually(t, "ready", func() error { return b.Ping(t.Context()) })
	return m
}

func client(t *testing.T, m *session.Manager) *session.Session {
	t.Helper()
	s, _, err := m.Open(session.Options{Peer: session.NoPeer()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A release wakes who waits elsewhere by a message: the lease is much longer than the
// test waits.
func TestWakeUp(t *testing.T) {
	t.Parallel()
	servers := start(t, 5, durable...)
	a, b := gateway(t, urlOf(servers), "a", time.Minute), gateway(t, urlOf(servers), "b", time.Minute)
	for _, s := range servers[:2] {
		s.Kill()
	}
	ctx := t.Context()
	for i, pair := range [][2]*session.Session{{client(t, a), client(t, b)}, {client(t, b), client(t, a)}} {
		first, second, name := pair[0], pair[1], fmt.Sprint("x", i)
		if _, err := first.Acquire(ctx, name, session.Acquire{Wait: limit}); err != nil {
			t.Fatal(err)
		}
		got := make(chan error, 1)
		go func() {
			_, err := second.Acquire(ctx, name, session.Acquire{Wait: 2 * limit})
			got <- err
		}()
		eventually(t, "the second waits", func() error {
			if st, err := a.Inspect(ctx, name); err != nil || st.Waiters == 0 {
				return fmt.Errorf("status = %+v, %w", st, err)
			}
			return nil
		})
		if _, err := first.Release(ctx, name, 1, false, ""); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-got:
			if err != nil {
				t.Errorf("the second: %v", err)
			}
		case <-time.After(limit):
			t.Fatalf("not woken within %v", limit)
		}
	}
}

// witness watches one name: who was told that it holds it.
type witness struct {
	mu     sync.Mutex
	cur    *session.Lease
	last   backend.Fence
	grants int
}

func (w *witness) enter(t *testing.T, l *session.Lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := l.View(); err != nil {
		return // lost between the telling and here
	}
	if w.cur != nil {
		if _, err := w.cur.View(); err == nil {
			t.Errorf("fence %d is held while fence %d is", l.Fence(), w.cur.Fence())
		}
	}
	if l.Fence() <= w.last {
		t.Errorf("fence %d after %d", l.Fence(), w.last)
	}
	w.cur, w.last = l, l.Fence()
	w.grants++
}

func (w *witness) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cur = nil
}

func (w *witness) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.grants
}

// Two gateways never hold a name at once while nodes are killed, restarted empty and
// stopped for a while.
func TestExclusion(t *testing.T) {
	t.Parallel()
	servers := start(t, 5)
	url := urlOf(servers) + "?max_ttl=1s"
	wit, ctx := &witness{}, t.Context()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for _, id := range []string{"a", "b"} {
		m := gateway(t, url, id, time.Second)
		for range 2 {
			s := client(t, m)
			wg.Go(func() { compete(ctx, t, s, wit, stop) })
		}
	}
	for i := range 3 {
		before := wit.count()
		servers[i].Restart()
		servers[i+2].Pause()
		// The node that was emptied before may not count yet: then it takes some time.
		eventually(t, "grants with a node empty and one hanging", func() error { return more(wit, before+5) })
		servers[i+2].Resume()
	}
	close(stop)
	wg.Wait()
	t.Logf("%d grants", wit.count())
}

func more(w *witness, n int) error {
	if got := w.count(); got < n {
		return fmt.Errorf("%d grants, want %d", got, n)
	}
	return nil
}

// compete takes the name and gives it back; now and then it keeps it over a renewal.
func compete(ctx context.Context, t *testing.T, s *session.Session, w *witness, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		g, err := s.Acquire(ctx, "x", session.Acquire{Wait: time.Second})
		if err != nil {
			continue
		}
		w.enter(t, g.Lease)
		hold := 5 * time.Millisecond
		if i%20 == 19 {
			hold = 1200 * time.Millisecond
		}
		select {
		case <-time.After(hold):
		case <-g.Lease.Done():
		}
		w.leave()
		_, _ = s.Release(ctx, "x", 1, true, "") // an error says that it is lost
	}
}
