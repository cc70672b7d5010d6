package session_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session"
)

// turnOver has two callers of the first node take turns, and returns their holds: the
// first is over, and the store knows of the first only.
func turnOver(t *testing.T, c *cluster, second session.Acquire) (before, now *session.Lease) {
	t.Helper()
	t.Helper()
	a, b := c.open(0), c.open(0)
	before = mustAcquire(t, a, "x", session.Acquire{})
	second.Wait = time.Minute
	got := wait(t, b, "x", second)
	mustRelease(t, a, "x")
	return before, within(t, 0, got)
}

// wantNewest expects the second node to take now for the newest grant, and not before.
func wantNewest(t *testing.T, c *cluster, before, now *session.Lease) {
	t.Helper()
	far := c.nodes[1]
	if err := far.Check(t.Context(), "x", now.Fence()); err != nil {
		t.Errorf("check of the newest fence: %v", err)
	}
	wantCode(t, far.Check(t.Context(), "x", before.Fence()), session.CodeFenceMismatch)
	st, err := far.Inspect(t.Context(), "x")
	if err != nil || st.Holder == nil || st.Holder.Owner != now.Owner() {
		t.Errorf("status = %+v, %v, want %s as the holder", st.Holder, err, now.Owner())
	}
}

// Another node that asks takes the present turn for the newest grant, not the one before,
// of which alone the store knows.
func TestCheckAsksTheHolder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		before, now := turnOver(t, c, session.Acquire{})
		wantNewest(t, c, before, now)
	})
}

// Where the holder does not answer, nobody is told that a fence is the newest one, or that
// it is not.
func TestCheckWithoutAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{drop: func(m ledger.Addressed) bool { return m.Kind == ledger.Tell }}
		c := newCluster(t, 2, session.Config{}, hooked(f))
		before, now := turnOver(t, c, session.Acquire{})
		for _, l := range []*session.Lease{before, now} {
			wantCode(t, c.nodes[1].Check(t.Context(), "x", l.Fence()), session.CodeUnavailable)
		}
		wantCode(t, c.nodes[1].Check(t.Context(), "x", 1), session.CodeFenceMismatch)
	})
}

// A node that does not answer is named, with when it last wrote what is told of it.
func TestSilentNodeIsNamed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var deaf atomic.Bool
		f := &faulty{drop: func(m ledger.Addressed) bool { return deaf.Load() && m.Kind == ledger.Tell }}
		c := newCluster(t, 2, session.Config{}, hooked(f))
		turnOver(t, c, session.Acquire{})
		time.Sleep(3 * time.Second)
		st, err := c.nodes[1].Inspect(t.Context(), "x")
		if err != nil || len(st.Silent) != 0 {
			t.Fatalf("silent = %+v, %v, want nobody", st.Silent, err)
		}
		deaf.Store(true)
		st, err = c.nodes[1].Inspect(t.Context(), "x")
		if err != nil || len(st.Silent) != 1 || st.Silent[0].Node != "node-0" {
			t.Fatalf("silent = %+v, %v, want node-0", st.Silent, err)
		}
		if ago := time.Since(st.Silent[0].AsOf); ago < 3*time.Second || ago > 4*time.Second {
			t.Errorf("as of %v ago, want when it last wrote", ago)
		}
		if st, err = c.nodes[0].Inspect(t.Context(), "x"); err != nil || len(st.Silent) != 0 {
			t.Errorf("of itself: silent = %+v, %v", st.Silent, err)
		}
	})
}

// Likewise of a turn that is over, while min_hold keeps the name.
func TestDescribedWhileKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		a, b := c.open(0), c.open(0)
		before := mustAcquire(t, a, "x", session.Acquire{})
		got := wait(t, b, "x", session.Acquire{Wait: time.Minute, MinHold: time.Minute})
		mustRelease(t, a, "x")
		now := within(t, 0, got)
		fence := now.Fence()
		mustRelease(t, b, "x")
		time.Sleep(5 * time.Second)
		far := c.nodes[1]
		if err := far.Check(t.Context(), "x", fence); err != nil {
			t.Errorf("check of the newest fence: %v", err)
		}
		wantCode(t, far.Check(t.Context(), "x", before.Fence()), session.CodeFenceMismatch)
	})
}

// An entry that the store did not confirm does not count there either, once it answers.
func TestUnconfirmedEntry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 2, session.Config{}, hooked(f))
		a, b := c.open(0), c.open(0)
		before := mustAcquire(t, a, "x", session.Acquire{})
		got := wait(t, b, "x", session.Acquire{Wait: time.Minute})
		mustRelease(t, a, "x")
		now := within(t, 0, got)
		f.set(nil, always(errLost, "write"))
		_, err := b.Acquire(context.Background(), "x", session.Acquire{})
		wantCode(t, err, session.CodeUnavailable)
		f.set(nil, nil)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		wantNewest(t, c, before, now)
		if n := c.entries("x"); n != 1 {
			t.Errorf("the store has %d entries, want 1", n)
		}
	})
}

// wantNewestOf expects each node to take the last of leases for the newest grant, and none
// of the others.
func wantNewestOf(t *testing.T, c *cluster, leases ...*session.Lease) {
	t.Helper()
	newest := leases[len(leases)-1]
	for i, node := range c.nodes {
		if err := node.Check(t.Context(), "x", newest.Fence()); err != nil {
			t.Errorf("node %d: check of the newest fence: %v", i, err)
		}
		for _, l := range leases[:len(leases)-1] {
			wantCode(t, node.Check(t.Context(), "x", l.Fence()), session.CodeFenceMismatch)
		}
	}
}

// Who had the name alone is not the newest any more once others share it or have permits,
// at whichever node.
func TestCheckWhileShared(t *testing.T) {
	for name, together := range map[string]session.Acquire{"shared": shares, "permits": {Limit: 3}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 2, session.Config{}, nil)
				a, b, d := c.open(0), c.open(0), c.open(1)
				alone := mustAcquire(t, a, "x", session.Acquire{})
				wantNewestOf(t, c, alone)
				mustRelease(t, a, "x")
				first := mustAcquire(t, a, "x", together)
				wantNewestOf(t, c, alone, first)
				second := mustAcquire(t, b, "x", together)
				wantNewestOf(t, c, alone, first, second)
				third := mustAcquire(t, d, "x", together)
				wantNewestOf(t, c, alone, first, second, third)
				mustRelease(t, d, "x")
				wantNewestOf(t, c, alone, first, second, third)
				mustRelease(t, b, "x")
				mustRelease(t, a, "x")
				wantNewestOf(t, c, alone, first, second, third)
				again := mustAcquire(t, b, "x", session.Acquire{})
				wantNewestOf(t, c, alone, first, second, third, again)
			})
		})
	}
}

// Where a node with shared holds does not answer, its newest fence is not known.
func TestCheckWhileSharedWithoutAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{drop: func(m ledger.Addressed) bool { return m.Kind == ledger.Tell }}
		c := newCluster(t, 2, session.Config{}, hooked(f))
		a := c.open(0)
		alone := mustAcquire(t, a, "x", session.Acquire{})
		mustRelease(t, a, "x")
		shared := mustAcquire(t, a, "x", shares)
		wantCode(t, c.nodes[1].Check(t.Context(), "x", alone.Fence()), session.CodeFenceMismatch)
		wantCode(t, c.nodes[1].Check(t.Context(), "x", shared.Fence()), session.CodeUnavailable)
	})
}
