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
