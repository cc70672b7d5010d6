package session_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/session"
)

// turnOver has two callers of the first node take turns, and returns their holds: the
// first is over, and the store has not been told yet of the second.
func turnOver(t *testing.T, c *cluster, second session.Acquire) (before, now *session.Lease) {
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

// Another node that asks does not take the turn before for the newest grant because one
// message about it was lost.
func TestDescribedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{before: always(errLost, "describe")}
		c := newCluster(t, 2, session.Config{}, hooked(f))
		before, now := turnOver(t, c, session.Acquire{})
		time.Sleep(time.Second)
		f.set(nil, nil)
		time.Sleep(5 * time.Second)
		wantNewest(t, c, before, now)
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

// A re-entry that the store did not confirm stands in for the message that was due in
// that time, so that is sent after it; and the store learns how often it was entered.
func TestDescribedAfterAnEntry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 2, session.Config{}, hooked(f))
		a, b := c.open(0), c.open(0)
		before := mustAcquire(t, a, "x", session.Acquire{})
		got := wait(t, b, "x", session.Acquire{Wait: time.Minute})
		mustRelease(t, a, "x")
		now := within(t, 0, got)
		f.set(nil, func(verb string) error {
			if verb != "describe" {
				return nil
			}
			time.Sleep(150 * time.Millisecond) // beyond the time of the message
			return errLost
		})
		_, err := b.Acquire(context.Background(), "x", session.Acquire{})
		wantCode(t, err, session.CodeUnavailable)
		f.set(nil, nil)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		wantNewest(t, c, before, now)
		if st, err := memory2(t, c).Inspect(t.Context(), "x"); err != nil || st.Count != 1 {
			t.Errorf("the store has count %d, %v, want 1: the entry does not count", st.Count, err)
		}
	})
}
