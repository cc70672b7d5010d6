package session_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

func TestHoldAndRelease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		a, b := c.open(0), c.open(0)
		l := mustAcquire(t, a, "x", session.Acquire{})
		if got := string(l.Owner()); got != a.UUID()+":1" {
			t.Errorf("owner = %s, want UUID:1", got)
		}
		_, err := b.Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeLocked)
		_, err = b.Release(t.Context(), "x", 1, false, "")
		wantCode(t, err, session.CodeNotOwner)
		mustRelease(t, a, "x")
		if held(l) {
			t.Error("a released lease is still held")
		}
		l2 := mustAcquire(t, b, "x", session.Acquire{})
		if l2.Fence() <= l.Fence() {
			t.Errorf("fence %d after %d, want larger", l2.Fence(), l.Fence())
		}
	})
}

func TestReentry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s := c.open(0)
		l := mustAcquire(t, s, "x", session.Acquire{})
		g, err := s.Acquire(t.Context(), "x", session.Acquire{})
		if err != nil || g.New || g.Lease != l {
			t.Fatalf("second acquire = %+v, %v, want the same lease, not new", g, err)
		}
		if v, _ := l.View(); v.Count != 2 {
			t.Errorf("count = %d, want 2", v.Count)
		}
		if _, err := s.Acquire(t.Context(), "x", session.Acquire{Thread: 2}); !is(err, session.CodeLocked) {
			t.Errorf("another thread: err = %v, want locked", err)
		}
		r, err := s.Release(t.Context(), "x", 1, false, "")
		if err != nil || r.Count != 1 || !held(l) {
			t.Errorf("first release = %+v, %v, held %v, want one entry left", r, err, held(l))
		}
		mustRelease(t, s, "x")
		if held(l) {
			t.Error("held after the last release")
		}
	})
}

func TestWatchdogKeepsTheLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{TTL: 3 * time.Second}, nil)
		l := mustAcquire(t, c.open(0), "x", session.Acquire{})
		time.Sleep(time.Hour)
		synctest.Wait()
		if !held(l) {
			t.Fatalf("lost after an hour: %v", l.Err())
		}
		_, err := c.open(1).Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeLocked)
	})
}

func TestWaitersAreServedInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		first := c.open(0)
		mustAcquire(t, first, "x", session.Acquire{})
		const n = 500
		order := make(chan int, n)
		for i := range n {
			s := c.open(0)
			go func() {
				if _, err := s.Acquire(context.Background(), "x", session.Acquire{Wait: time.Minute}); err != nil {
					t.Errorf("waiter %d: %v", i, err)
				}
				order <- i
				if _, err := s.Release(context.Background(), "x", 1, false, ""); err != nil {
					t.Errorf("waiter %d: %v", i, err)
				}
			}()
			synctest.Wait()
		}
		mustRelease(t, first, "x")
		for want := range n {
			if got := <-order; got != want {
				t.Fatalf("served %d, want %d", got, want)
			}
		}
	})
}

func TestHandOffBetweenNodes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		a, b := c.open(0), c.open(1)
		mustAcquire(t, a, "x", session.Acquire{})
		got := make(chan *session.Lease)
		go func() {
			g, err := b.Acquire(context.Background(), "x", session.Acquire{Wait: time.Minute})
			if err != nil {
				t.Errorf("acquire: %v", err)
			}
			got <- g.Lease
		}()
		synctest.Wait()
		began := time.Now()
		mustRelease(t, a, "x")
		l := <-got
		if d := time.Since(began); d > 0 {
			t.Errorf("hand-off took %v of waiting, want none", d)
		}
		if !held(l) {
			t.Error("not held after the hand-off")
		}
	})
}

// With 32 random bits two of 100,000 sessions have the same ID more often than not. They
// were one in the journal, and after a restart one had what the other was told to hold.
func TestSessionIDsDiffer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		random := map[byte]bool{}
		ids := map[string]bool{}
		for range 100 {
			id := c.open(0).ID()
			ids[id] = true
			random[id[len(id)-1]] = true
			if n := len(strings.ReplaceAll(id, "-", "")); n < 16 {
				t.Fatalf("ID %q has %d digits, want 16 or more", id, n)
			}
		}
		if len(ids) != 100 || len(random) < 8 {
			t.Errorf("%d IDs, %d last digits; want 100 that differ to the end", len(ids), len(random))
		}
	})
}

// A session that is opened while the Manager closes is refused or ended: Close must not wait for
// its client.
func TestOpenWhileClosing(t *testing.T) {
	alive := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for range 50 {
		store := memory.OpenTable(memory.NewRows(), "a")
		m := session.New(store, session.Config{})
		var clients sync.WaitGroup
		opened := make(chan struct{}, 1)
		for range 8 {
			clients.Go(func() {
				for range 1000 {
					if _, _, err := m.Open(session.Options{Peer: session.NoPeer(), Alive: alive}); err != nil {
						wantCode(t, err, session.CodeDraining)
						return
					}
					select {
					case opened <- struct{}{}:
					default:
					}
				}
			})
		}
		<-opened
		closed := make(chan error, 1)
		go func() { closed <- m.Close(context.Background()) }()
		select {
		case err := <-closed:
			if err != nil {
				t.Fatalf("close: %v", err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("Close waits for the clients of %d sessions", m.Stats().Sessions)
		}
		clients.Wait()
		_ = store.Close()
	}
}

// No session lives by longer silence, or with other leases, than the configuration allows.
func TestOptionsBeyondTheLimits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		limits := session.Limits{MinTTL: time.Second, MaxTTL: time.Minute, MaxKeepalive: time.Hour}
		m := newCluster(t, 1, session.Config{Limits: limits}, nil).nodes[0]
		for _, o := range []session.Options{
			{TTL: time.Millisecond}, {TTL: time.Hour}, {TTL: -1}, {Keepalive: -1}, {Keepalive: 2 * time.Hour}, {MaxHold: -1},
		} {
			_, _, err := m.Open(o)
			wantCode(t, err, session.CodeInvalid)
		}
		if _, _, err := m.Open(session.Options{TTL: time.Minute, Keepalive: time.Hour, MaxHold: time.Hour}); err != nil {
			t.Error(err)
		}
	})
}
