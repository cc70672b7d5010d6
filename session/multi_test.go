package session_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/session"
)

// wantFree fails unless all of names can be had at once and by nobody is waited for.
func (c *cluster) wantFree(names ...string) {
	c.t.Helper()
	for _, name := range names {
		for i, m := range c.nodes {
			if st, err := m.Inspect(c.t.Context(), name); err != nil || st.State != session.StateFree || st.Waiters > 0 {
				c.t.Errorf("node %d: %s is %s, %d wait, %v, want it free", i, name, st.State, st.Waiters, err)
			}
		}
	}
}

// refusedFor checks that err is about lock.
func refusedFor(t *testing.T, err error, code session.Code, lock string) *session.Error {
	t.Helper()
	var e *session.Error
	if !errors.As(err, &e) || e.Code != code || e.Lock != lock {
		t.Fatalf("err = %v, want %s of lock %s", err, code, lock)
	}
	return e
}

func mustAcquireAll(t *testing.T, s *session.Session, a session.Acquire, names ...string) []session.Grant {
	t.Helper()
	gs, err := s.AcquireAll(t.Context(), names, a)
	if err != nil {
		t.Fatalf("acquire %q: %v", names, err)
	}
	return gs
}

// acquireAll runs in the background; the channel yields its error.
func acquireAll(s *session.Session, a session.Acquire, names ...string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := s.AcquireAll(context.Background(), names, a)
		done <- err
	}()
	synctest.Wait()
	return done
}

func TestAllOrNone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		other, s := c.open(1), c.open(0)
		l := mustAcquire(t, other, "b", session.Acquire{Note: "backup"})
		_, err := s.AcquireAll(t.Context(), []string{"c", "b", "a"}, session.Acquire{})
		if e := refusedFor(t, err, session.CodeLocked, "b"); e.Holder == nil || e.Holder.Owner != l.Owner() {
			t.Errorf("holder = %+v, want %s", e.Holder, l.Owner())
		}
		c.wantFree("a", "c")
		mustRelease(t, other, "b")
		gs := mustAcquireAll(t, s, session.Acquire{TTL: 10 * time.Second, Thread: 3}, "c", "b", "a")
		for i, name := range []string{"c", "b", "a"} {
			v, err := gs[i].Lease.View()
			if err != nil || v.Name != name || !gs[i].New || v.Count != 1 || v.Thread != 3 || v.Left > 10*time.Second {
				t.Errorf("grant %d = %+v, %v, want %s, new, count 1, thread 3, ttl 10 s", i, v, err, name)
			}
		}
	})
}

func TestAcquireAllBadArguments(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{Limits: session.Limits{HoldsPerSession: 3}}, nil)
		s := c.open(0)
		before := c.nodes[0].Stats()
		for _, tt := range []struct {
			names  []string
			a      session.Acquire
			detail string
		}{
			{nil, session.Acquire{}, "names: must have at least one"},
			{[]string{"a", "b", "a"}, session.Acquire{}, `names: has "a" twice`},
			{[]string{"a", "b", "c", "d"}, session.Acquire{}, "limits.holds_per_session"},
			{[]string{"a", ""}, session.Acquire{}, "names[1]: must not be empty"},
			{[]string{"a", "b c"}, session.Acquire{}, "names[1]: must not contain"},
			{[]string{"a"}, session.Acquire{TTL: 1}, "ttl: "},
			{[]string{"a"}, session.Acquire{Wait: -1}, "wait: "},
			{[]string{"a"}, session.Acquire{Thread: -1}, "thread: "},
		} {
			_, err := s.AcquireAll(t.Context(), tt.names, tt.a)
			wantCode(t, err, session.CodeInvalid)
			if err == nil || !strings.Contains(err.Error(), tt.detail) {
				t.Errorf("%q: err = %v, want %q in it", tt.names, err, tt.detail)
			}
		}
		if after := c.nodes[0].Stats(); after != before {
			t.Errorf("stats = %+v after bad requests, want %+v", after, before)
		}
		mustAcquire(t, s, "z", session.Acquire{})
		_, err := s.AcquireAll(t.Context(), []string{"a", "b", "c"}, session.Acquire{})
		refusedFor(t, err, session.CodeTooManyHolds, "c")
		c.wantFree("a", "b")
	})
}

// Two requests without a key have nothing to do with each other.
func TestAcquireAllWithoutKey(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newCluster(t, 1, session.Config{}, nil).open(0)
		for _, names := range [][]string{{"a", "b"}, {"c"}, {"c"}} {
			if _, err := s.AcquireAll(t.Context(), names, session.Acquire{}); err != nil {
				t.Errorf("%q: %v", names, err)
			}
		}
		l, err := s.Lease("c", 0)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := l.View(); err != nil || v.Count != 2 {
			t.Errorf("c is held %d times, %v, want 2", v.Count, err)
		}
	})
}

// Callers that ask for the same names in any order all get them, one after the other.
func TestAcquireAllNeverDeadlocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		names := []string{"a", "b", "c", "d", "e"}
		var holders [5]atomic.Int32
		var wg sync.WaitGroup
		for i := range 50 {
			s := c.open(i % 2)
			wg.Go(func() {
				order := rand.Perm(len(names))[:2+rand.N(4)]
				var mine []string
				for _, n := range order {
					mine = append(mine, names[n])
				}
				if _, err := s.AcquireAll(context.Background(), mine, session.Acquire{Wait: 5 * time.Minute}); err != nil {
					t.Errorf("acquire %q: %v", mine, err)
					return
				}
				for _, n := range order {
					if holders[n].Add(1) != 1 {
						t.Errorf("%s has two holders", names[n])
					}
				}
				time.Sleep(time.Millisecond)
				for _, n := range order {
					holders[n].Add(-1)
				}
				if done, err := s.ReleaseAll(context.Background(), mine, 1, ""); err != nil || len(done.Released) != len(mine) {
					t.Errorf("release %q = %+v, %v", mine, done, err)
				}
			})
		}
		wg.Wait()
		c.wantFree(names...)
	})
}

// The wait is for all names together.
func TestAcquireAllTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		other, s := c.open(1), c.open(0)
		mustAcquireAll(t, other, session.Acquire{}, "b", "d")
		began := time.Now()
		done := acquireAll(s, session.Acquire{Wait: 10 * time.Second}, "d", "c", "b", "a")
		time.Sleep(6 * time.Second)
		mustRelease(t, other, "b")
		refusedFor(t, <-done, session.CodeWaitTimeout, "d")
		if d := time.Since(began).Round(time.Millisecond); d != 10*time.Second {
			t.Errorf("refused after %v, want 10 s", d)
		}
		c.wantFree("a", "b", "c")
	})
}

// A name whose turn comes when the wait is over already is only tried, but the answer
// says that there was a wait.
func TestAcquireAllWaitUsedUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		clock := &jumpy{}
		c := newCluster(t, 1, session.Config{Clock: clock.now, TTL: 5 * time.Minute}, nil)
		other, s := c.open(0), c.open(0)
		mustAcquireAll(t, other, session.Acquire{}, "a", "b")
		done := acquireAll(s, session.Acquire{Wait: time.Minute}, "a", "b")
		clock.jump(time.Minute)
		mustRelease(t, other, "a")
		refusedFor(t, <-done, session.CodeWaitTimeout, "b")
		c.wantFree("a")
	})
}

func TestAcquireAllLosesOneWhileItWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		other, s := c.open(0), c.open(0)
		mustAcquire(t, other, "c", session.Acquire{})
		began := time.Now()
		done := acquireAll(s, session.Acquire{Wait: time.Minute, MaxHold: 5 * time.Second}, "c", "b", "a")
		err := <-done
		if e := new(session.Error); !errors.As(err, &e) || e.Code != session.CodeLost || e.Lock == "c" {
			t.Errorf("err = %v, want a or b lost", err)
		}
		if d := time.Since(began).Round(time.Second); d != 5*time.Second {
			t.Errorf("refused after %v, want 5 s", d)
		}
		synctest.Wait() // nobody waits for the store to forget what is lost
		c.wantFree("a", "b")

		done = acquireAll(s, session.Acquire{Wait: time.Minute}, "c", "b", "a")
		mustRelease(t, s, "b")
		refusedFor(t, <-done, session.CodeNotOwner, "b")
		c.wantFree("a", "b")
	})
}

// What is lost when all have been got, and no timer has said so, is not told.
func TestAcquireAllLooksBeforeItAnswers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		clock := &jumpy{}
		c := newCluster(t, 1, session.Config{Clock: clock.now}, nil)
		clock.when("session.firstOver", func() { clock.jump(time.Minute) })
		_, err := c.open(0).AcquireAll(t.Context(), []string{"a", "b"}, session.Acquire{})
		refusedFor(t, err, session.CodeLost, "a")
		synctest.Wait()
		c.wantFree("a", "b")
	})
}

// A name that the session holds already keeps its earlier entries.
func TestAcquireAllEntersAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		other, s := c.open(0), c.open(0)
		l := mustAcquire(t, s, "b", session.Acquire{})
		mustAcquire(t, other, "c", session.Acquire{})
		_, err := s.AcquireAll(t.Context(), []string{"a", "b", "c"}, session.Acquire{})
		refusedFor(t, err, session.CodeLocked, "c")
		if v, err := l.View(); err != nil || v.Count != 1 {
			t.Errorf("b: count = %d, %v, want 1", v.Count, err)
		}
		c.wantFree("a")
		mustRelease(t, other, "c")
		gs := mustAcquireAll(t, s, session.Acquire{}, "a", "b", "c")
		if gs[1].New || gs[1].Lease != l || !gs[0].New {
			t.Errorf("grants = %+v, want the hold of b again and a new one of a", gs)
		}
		done, err := s.ReleaseAll(t.Context(), []string{"a", "b", "c"}, 1, "")
		if err != nil || !slices.Equal(done.Released, []string{"a", "c"}) {
			t.Errorf("release = %+v, %v, want a and c given back", done, err)
		}
		if v, err := l.View(); err != nil || v.Count != 1 {
			t.Errorf("b: count = %d, %v, want 1", v.Count, err)
		}
	})
}

// What nobody was told of is not kept for min_hold, and is given back though the
// caller is gone.
func TestAcquireAllCancelled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		other, s := c.open(0), c.open(0)
		mustAcquire(t, other, "c", session.Acquire{})
		ctx, hangUp := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, hangUp)
		_, err := s.AcquireAll(ctx, []string{"a", "b", "c"}, session.Acquire{Wait: time.Minute, MinHold: time.Hour})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v, want canceled", err)
		}
		c.wantFree("a", "b")
		if n := len(s.Leases()) + len(s.Waits()); n != 0 {
			t.Errorf("the session has %d holds and waits, want none", n)
		}
	})
}

// A store that stops answering holds the caller up for a bounded time, and keeps
// nothing in the end.
func TestAcquireAllWithoutStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 1, session.Config{}, hooked(f))
		s := c.open(0)
		var asked atomic.Int32
		f.set(func(string) error {
			if asked.Add(1) > 2 {
				return errLost
			}
			return nil
		}, nil)
		began := time.Now()
		_, err := s.AcquireAll(t.Context(), []string{"a", "b", "c", "d"}, session.Acquire{})
		refusedFor(t, err, session.CodeOutcomeUnknown, "c")
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("answered after %v, want at most the store's time twice", d)
		}
		f.set(nil, nil)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		c.wantFree("a", "b", "c", "d")
	})
}
