package session_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session"
)

// While another node waits, a node keeps the name for at most max_turns turns.
func TestTurnsAreBounded(t *testing.T) {
	for _, turns := range []int{1, 5} {
		t.Run(fmt.Sprint(turns), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				cfg := session.Config{Fairness: session.Fairness{MaxTurns: turns, MaxTurnTime: time.Hour}}
				c := newCluster(t, 3, cfg, nil)
				order := crowd(t, c, 30, time.Millisecond)
				run := 0
				for i, node := range order {
					if run++; i > 0 && order[i-1] != node {
						run = 1
					}
					if run > turns && i < len(order)-turns {
						t.Fatalf("node %d had %d turns in a row while others waited: %v", node, run, order)
					}
				}
			})
		})
	}
}

// crowd has n callers of each node take the lock once, and returns whose turns
// they were, in order.
func crowd(t *testing.T, c *cluster, n int, hold time.Duration) []int {
	t.Helper()
	first := c.open(0)
	mustAcquire(t, first, "x", session.Acquire{})
	var mu sync.Mutex
	var order []int
	var wg sync.WaitGroup
	for i := range n * len(c.nodes) {
		node := i % len(c.nodes)
		s := c.open(node)
		wg.Go(func() {
			if _, err := s.Acquire(context.Background(), "x", session.Acquire{Wait: time.Minute}); err != nil {
				t.Errorf("acquire: %v", err)
				return
			}
			mu.Lock()
			order = append(order, node)
			mu.Unlock()
			time.Sleep(hold)
			if _, err := s.Release(context.Background(), "x", 1, false, ""); err != nil {
				t.Errorf("release: %v", err)
			}
		})
		synctest.Wait()
		time.Sleep(time.Microsecond) // as the store counts them
	}
	mustRelease(t, first, "x")
	wg.Wait()
	return order
}

// Nodes are served in the order in which they began to wait, again and again.
func TestNodesInTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3, session.Config{Fairness: session.Fairness{MaxTurns: 4, MaxTurnTime: time.Hour}}, nil)
		order := crowd(t, c, 24, time.Millisecond)
		var rounds []int
		for i, node := range order {
			if i == 0 || order[i-1] != node {
				rounds = append(rounds, node)
			}
		}
		for i := range len(rounds) - 3 {
			if rounds[i] == rounds[i+1] || rounds[i+3] != rounds[i] {
				t.Fatalf("nodes served %v, want them in turn", rounds)
			}
		}
	})
}

// ...or for at most max_turn_time.
func TestTurnTimeIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{Fairness: session.Fairness{MaxTurns: 1000}}, nil)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 20 {
			s := c.open(0)
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if _, err := s.Acquire(context.Background(), "x", session.Acquire{Wait: time.Minute}); err != nil && !is(err, session.CodeDraining) {
						t.Errorf("acquire: %v", err)
					}
					time.Sleep(10 * time.Millisecond)
					_, _ = s.Release(context.Background(), "x", 1, false, "")
				}
			})
		}
		time.Sleep(time.Second)
		began := time.Now()
		mustAcquire(t, c.open(1), "x", session.Acquire{Wait: time.Minute})
		if d := time.Since(began); d > 70*time.Millisecond {
			t.Errorf("another node waited %v, want 50 ms and a turn at most", d)
		}
		close(stop)
		for _, m := range c.nodes {
			m.Drain()
		}
		c.nodes[1].Close(t.Context())
		wg.Wait()
	})
}

// In strict mode all waiters of all nodes stand in one line.
func TestStrictOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3, session.Config{Fairness: session.Fairness{Strict: true}}, nil)
		order := crowd(t, c, 20, time.Millisecond)
		for i, node := range order {
			if node != i%3 {
				t.Fatalf("nodes served %v, want 0 1 2 0 1 2 ...", order)
			}
		}
	})
}

// A turn among callers of one node costs the store nothing.
func TestLocalTurnsNeedNoStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var mu sync.Mutex
		asked := map[string]int{}
		count := func(verb string) error {
			mu.Lock()
			defer mu.Unlock()
			asked[verb]++
			return nil
		}
		c := newCluster(t, 1, session.Config{Fairness: session.Fairness{MaxTurns: 64}}, hooked(&faulty{before: count}))
		crowd(t, c, 640, 0)
		mu.Lock()
		defer mu.Unlock()
		if asked["acquire"] != 1 || asked["release"] != 1 || asked["write"] > 21 || asked["join"] != 0 {
			t.Errorf("asked %v for 641 turns, want one acquire, one release and twenty blocks", asked)
		}
	})
}

// Turns go on while the next block is asked for.
func TestTurnsDoNotWaitForTheStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		slow := func(verb string) error {
			if verb == "write" {
				time.Sleep(20 * time.Millisecond)
			}
			return nil
		}
		c := newCluster(t, 1, session.Config{Fairness: session.Fairness{MaxTurns: 64}}, hooked(&faulty{before: slow}))
		began := time.Now()
		crowd(t, c, 320, time.Millisecond)
		if took := time.Since(began); took > 325*time.Millisecond {
			t.Errorf("320 turns of 1 ms took %v: they waited for the store", took)
		}
	})
}

// What is reserved ahead is part of the turns that a node may have while another
// one waits, of whom it was not told.
func TestTurnsAreBoundedWithoutMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const turns = 16
		deaf := func(i int, b ledger.Table) ledger.Table {
			if i > 0 {
				return b
			}
			return &faulty{Table: b, drop: func(m ledger.Addressed) bool { return m.Kind == ledger.Waits }}
		}
		c := newCluster(t, 2, session.Config{Fairness: session.Fairness{MaxTurns: turns}}, deaf)
		first := c.open(0)
		mustAcquire(t, first, "x", session.Acquire{})
		var mu sync.Mutex
		given, since, late := 0, 0, false
		var wg sync.WaitGroup
		for range 10 * turns {
			s := c.open(0)
			wg.Go(func() {
				_, _ = s.Acquire(context.Background(), "x", session.Acquire{Wait: time.Minute})
				mu.Lock()
				if given++; late {
					since++
				}
				mu.Unlock()
				time.Sleep(time.Millisecond)
				_, _ = s.Release(context.Background(), "x", 1, false, "")
			})
		}
		mustRelease(t, first, "x")
		for {
			time.Sleep(time.Millisecond / 2)
			mu.Lock()
			if given > 3*turns/2+1 { // the next block has just been reserved
				late = true
			}
			mu.Unlock()
			if late {
				break
			}
		}
		mustAcquire(t, c.open(1), "x", session.Acquire{Wait: time.Minute})
		mu.Lock()
		if since > turns {
			t.Errorf("%d turns before another node's, want at most %d", since, turns)
		}
		mu.Unlock()
		wg.Wait()
	})
}

// The store's lease is never longer than what the present turn asked for.
func TestShorterLeaseIsTakenAnew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		a := c.open(0)
		mustAcquire(t, a, "x", session.Acquire{TTL: time.Hour})
		got := wait(t, c.open(0), "x", session.Acquire{TTL: 2 * time.Second, Wait: time.Minute})
		mustRelease(t, a, "x")
		within(t, 0, got)
		if h := c.record("x").Holds; len(h) != 1 || h[0].End > 2*time.Second {
			t.Errorf("in the store: %+v, want a lease of 2 s", h)
		}
	})
}

// A turn that asked for a longer lease than the hold has gets it.
func TestLongerLeaseIsRenewed(t *testing.T) {
	for name, a := range map[string]session.Acquire{
		"longer": {TTL: time.Minute, Wait: time.Minute},
		"fixed":  {TTL: 6 * time.Second, Wait: time.Minute, Fixed: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 1, session.Config{TTL: 6 * time.Second}, nil)
				s := c.open(0)
				mustAcquire(t, s, "x", session.Acquire{})
				got := wait(t, c.open(0), "x", a)
				time.Sleep(1500 * time.Millisecond)
				mustRelease(t, s, "x")
				l := within(t, 0, got)
				if v, err := l.View(); err != nil || v.Left < a.TTL-100*time.Millisecond && v.Left < a.TTL*98/100 {
					t.Errorf("left = %v, %v, want %v", v.Left, err, a.TTL)
				}
			})
		})
	}
}

// A turn is not given under a lease that is nearly over.
func TestNoTurnWithoutTimeLeft(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 1, session.Config{TTL: 6 * time.Second}, hooked(f))
		s := c.open(0)
		mustAcquire(t, s, "x", session.Acquire{})
		f.set(always(errLost, "renew"), nil)
		got := wait(t, c.open(0), "x", session.Acquire{Wait: time.Minute})
		time.Sleep(5500 * time.Millisecond)
		mustRelease(t, s, "x")
		l := within(t, 10*time.Second, got)
		if v, err := l.View(); err != nil || v.Left < 5*time.Second {
			t.Errorf("left = %v, %v, want a lease of its own", v.Left, err)
		}
	})
}

// exact_owner: the store names the owner of each turn before the owner is told.
func TestExactOwner(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{Fairness: session.Fairness{ExactOwner: true}}, nil)
		a, b := c.open(0), c.open(0)
		mustAcquire(t, a, "x", session.Acquire{})
		got := wait(t, b, "x", session.Acquire{Wait: time.Minute})
		mustRelease(t, a, "x")
		l := within(t, 0, got)
		if h := c.record("x").Holds; len(h) != 1 || len(h[0].Callers) != 1 || h[0].Callers[0].Owner != l.Owner() {
			t.Errorf("in the store: %+v, want %s as the owner", h, l.Owner())
		}
	})
}

// Without it, other nodes know the present owner when they ask.
func TestOwnerIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		a, b := c.open(0), c.open(0, session.Options{Name: "second", Peer: session.Peer{PID: 7, UID: 3, Command: "job"}})
		first := mustAcquire(t, a, "x", session.Acquire{})
		got := wait(t, b, "x", session.Acquire{Wait: time.Minute, Note: "why"})
		mustRelease(t, a, "x")
		l := within(t, 0, got)
		st, err := c.nodes[1].Inspect(t.Context(), "x")
		if err != nil || st.Holder == nil || st.Holder.Owner != l.Owner() || st.Holder.PID != 7 || st.Holder.Note != "why" || st.Fence != l.Fence() {
			t.Errorf("status = %+v (%+v), %v, want the second caller", st, st.Holder, err)
		}
		check := func(node int, fence backend.Fence, want session.Code) {
			t.Helper()
			err := c.nodes[node].Check(t.Context(), "x", fence)
			if want == "" && err != nil || want != "" && session.CodeOf(err) != want {
				t.Errorf("check %d on node %d = %v, want %q", fence, node, err, want)
			}
		}
		for node := range 2 {
			check(node, l.Fence(), "")
			check(node, first.Fence(), session.CodeFenceMismatch)
			check(node, l.Fence()+1, session.CodeFenceMismatch)
		}
		mustRelease(t, b, "x")
		for node := range 2 {
			check(node, l.Fence(), "")
			check(node, first.Fence(), session.CodeFenceMismatch)
		}
	})
}
