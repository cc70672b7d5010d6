package session_test

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// wait has n callers wait for name on a gateway, until the test ends.
func (c *cluster) wait(node, n int, name string) {
	for range n {
		s := c.open(node)
		go func() { _, _ = s.Acquire(c.t.Context(), name, session.Acquire{Wait: 5 * time.Minute}) }()
	}
	time.Sleep(time.Second)
}

// Who is next is the same on every node: the first in the queue of the store.
func TestNext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3, session.Config{}, nil)
		mustAcquire(t, c.open(0), "x", session.Acquire{})
		next := func(node int) string {
			st, err := c.nodes[node].Inspect(t.Context(), "x")
			switch {
			case err != nil:
				t.Fatal(err)
			case st.Next == nil:
				return "nobody"
			case st.Next.Owner == "":
				return "elsewhere"
			}
			return st.Next.Node
		}
		want := func(when string, want ...string) {
			t.Helper()
			for node, w := range want {
				if got := next(node); got != w {
					t.Errorf("%s: to node %d the next is %s, want %s", when, node, got, w)
				}
			}
		}
		want("held", "nobody", "nobody", "nobody")
		c.wait(0, 1, "x")
		if got := next(0); got != "node-0" {
			t.Errorf("with a caller of its own alone the next is %s", got)
		}
		c.wait(1, 2, "x")
		c.wait(2, 1, "x")
		want("all wait", "node-1", "node-1", "node-1")
		// The callers of the node that has the name come after all others.
		for node, want := range []int{3, 0, 2} {
			if st, err := c.nodes[node].Inspect(t.Context(), "x"); err != nil || st.Ahead != want || st.Waiters != 4 {
				t.Errorf("node %d: %d of %d stand before its own, %v, want %d of 4", node, st.Ahead, st.Waiters, err, want)
			}
		}
	})
}

// Where the order is strict, the callers of the node that has the name stand in one order
// with all others, whoever is asked.
func TestNextInStrictOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 3, session.Config{Fairness: session.Fairness{Strict: true}}, nil)
		first := c.open(0)
		mustAcquire(t, first, "x", session.Acquire{})
		turns := make(chan int, 5)
		wait := func(node, turn int) {
			s := c.open(node)
			go func() {
				if _, err := s.Acquire(c.t.Context(), "x", session.Acquire{Wait: 5 * time.Minute}); err != nil {
					return
				}
				turns <- turn
				time.Sleep(time.Second)
				_, _ = s.Release(c.t.Context(), "x", 1, false, "")
			}()
			time.Sleep(time.Second)
		}
		want := func(when, next string, ahead ...int) {
			t.Helper()
			for node, want := range ahead {
				st, err := c.nodes[node].Inspect(t.Context(), "x")
				if err != nil || st.Next == nil || st.Next.Node != next || st.Ahead != want {
					t.Errorf("%s: to node %d next is %+v, and %d stand before its own, %v; want %s, and %d", when, node, st.Next, st.Ahead, err, next, want)
				}
			}
		}
		wait(0, 1)
		want("its own alone", "node-0", 0, 0, 0)
		wait(1, 2)
		wait(0, 3)
		wait(1, 4)
		want("the holder's node came first", "node-0", 0, 1, 0)
		wait(2, 5)
		want("one came last", "node-0", 0, 1, 4)
		mustRelease(t, first, "x")
		for i := range 5 {
			if turn := <-turns; turn != i+1 {
				t.Errorf("the %d. turn is that of caller %d", i+1, turn)
			}
			time.Sleep(100 * time.Millisecond)
			switch i {
			case 0:
				want("after one turn", "node-1", 1, 0, 3)
			case 1:
				want("after two turns", "node-0", 0, 1, 2)
			}
		}
	})
}
