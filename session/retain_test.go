package session_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/engine"
)

// requests counts what a node asks the store.
type requests struct {
	mu sync.Mutex
	n  int
}

func (r *requests) count(string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	return nil
}

// since is how many there were since it was called last.
func (r *requests) since() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.n
	r.n = 0
	return n
}

const retain = 500 * time.Millisecond

// retaining is two nodes, the first of which retains what it has, and x, which was locked
// there once.
func retaining(t *testing.T) (c *cluster, own, other *session.Session, asked *requests) {
	f := &faulty{}
	c = newCluster(t, 2, session.Config{Fairness: session.Fairness{Retain: retain}}, hooked(f))
	asked = &requests{}
	f.set(asked.count, nil)
	own, other = c.open(0), c.open(1)
	mustAcquire(t, own, "x", session.Acquire{})
	mustRelease(t, own, "x")
	if n := asked.since(); n != 1 {
		t.Errorf("the first hold made %d requests, want one", n)
	}
	return c, own, other, asked
}

// A name that one node locks again and again costs one request for each block of fences,
// and no other.
func TestRetained(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, own, _, asked := retaining(t)
		var last uint64
		lock := func() {
			time.Sleep(time.Millisecond)
			l := mustAcquire(t, own, "x", session.Acquire{})
			if f := uint64(l.Fence()); f <= last {
				t.Errorf("fence %d after %d", f, last)
			}
			last = uint64(l.Fence())
			mustRelease(t, own, "x")
		}
		for range 63 {
			lock()
		}
		if n := asked.since(); n != 0 {
			t.Errorf("63 holds made %d requests, want none", n)
		}
		for range 64 {
			lock()
		}
		if n := asked.since(); n != 1 {
			t.Errorf("the 64 holds of the next block made %d requests, want one", n)
		}
	})
}

// Who waits at another node gets at once what nobody uses.
func TestRetainedIsGivenToWhoWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, _, other, _ := retaining(t)
		within(t, 0, wait(t, other, "x", session.Acquire{Wait: time.Minute}))
	})
}

// A name that is retained is free, and its fence is the newest that was given: neither one that
// is reserved for the next turns, nor that of an earlier hold.
func TestRetainedFence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, own, other, _ := retaining(t)
		for _, s := range []*session.Session{own, other, own} {
			l := mustAcquire(t, s, "x", session.Acquire{})
			mustRelease(t, s, "x")
			for i, m := range c.nodes {
				if st, err := m.Inspect(t.Context(), "x"); err != nil || st.State != session.StateFree || st.Fence != l.Fence() {
					t.Errorf("node %d tells %+v, %v, want free and fence %d", i, st, err, l.Fence())
				}
			}
		}
	})
}

// Who does not want to wait elsewhere gets at once what nobody uses, and what is used is
// refused without a write. Nobody is shown as the holder of what is retained.
func TestRetainedIsGivenToATry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, own, other, _ := retaining(t)
		if st, err := c.nodes[1].Inspect(t.Context(), "x"); err != nil || st.State != session.StateFree {
			t.Errorf("status = %+v, %v, want free", st, err)
		}
		began := time.Now()
		mustAcquire(t, other, "x", session.Acquire{})
		mustRelease(t, other, "x")
		mustAcquire(t, own, "x", session.Acquire{})
		before := c.version("x")
		_, err := other.Acquire(t.Context(), "x", session.Acquire{})
		wantCode(t, err, session.CodeLocked)
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
		if after := c.version("x"); after != before {
			t.Error("a try of a name that is used has changed its record")
		}
	})
}

// All that hold a lock are asked, and of a semaphore any of them may give a permit back.
func TestRetainedBySeveral(t *testing.T) {
	two := session.Acquire{Limit: 2}
	for name, x := range map[string]struct {
		held, wanted session.Acquire
		one, none    session.Code // while one node uses it, and none does
	}{
		"readers":   {shares, session.Acquire{}, session.CodeLocked, ""},
		"semaphore": {two, two, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 3, session.Config{Fairness: session.Fairness{Retain: retain}}, nil)
				first, second, third := c.open(0), c.open(1), c.open(2)
				mustAcquire(t, first, "x", x.held)
				mustAcquire(t, second, "x", x.held)
				try := func(want session.Code) {
					t.Helper()
					if _, err := third.Acquire(t.Context(), "x", x.wanted); want != "" {
						wantCode(t, err, want)
					} else if err != nil {
						t.Error(err)
					} else {
						mustRelease(t, third, "x")
					}
				}
				began := time.Now()
				try(session.CodeLocked)
				mustRelease(t, first, "x")
				try(x.one)
				mustRelease(t, second, "x")
				try(x.none)
				if took := time.Since(began); took > 0 {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// What a node keeps that nobody uses is no reason not to ask whether the name is still in use
// elsewhere as something else.
func TestRetainedAsSomethingElse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{Fairness: session.Fairness{Retain: retain}}, nil)
		for _, node := range []int{1, 0} { // which sees that the other has it, and not that it is given up
			s := c.open(node)
			mustAcquire(t, s, "x", session.Acquire{Shared: true})
			mustRelease(t, s, "x")
			time.Sleep(retain * 2 / 3)
		}
		for _, a := range []session.Acquire{{Limit: 2, Wait: time.Minute}, {Limit: 2}} {
			within(t, 0, wait(t, c.open(0), "x", a))
		}
	})
}

// A node that says nothing keeps who does not want to wait for no longer than AskTime.
func TestRetainedBySilence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for name, lost := range map[string]ledger.Kind{"the question is lost": ledger.Tell, "that one waits is lost": ledger.Waits} {
			f := &faulty{drop: func(m ledger.Addressed) bool { return m.Kind == lost }}
			c := newCluster(t, 2, session.Config{Fairness: session.Fairness{Retain: retain}}, hooked(f))
			own, other := c.open(0), c.open(1)
			mustAcquire(t, own, "x", session.Acquire{})
			mustRelease(t, own, "x")
			began := time.Now()
			_, err := other.Acquire(t.Context(), "x", session.Acquire{})
			wantCode(t, err, session.CodeLocked)
			if took := time.Since(began); took != engine.AskTime {
				t.Errorf("%s: refused after %v, want %v", name, took, engine.AskTime)
			}
			synctest.Wait()
			if r := c.record("x"); len(r.Queue) > 0 {
				t.Errorf("%s: left behind: %+v", name, r.Queue)
			}
			mustAcquire(t, own, "x", session.Acquire{})
		}
	})
}
