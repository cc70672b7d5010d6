package session_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/engine"
)

// Broken from the node that holds it, and from another one.
func TestBreak(t *testing.T) {
	for i, where := range []string{"here", "elsewhere"} {
		t.Run(where, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 2, session.Config{}, nil)
				s := c.open(0)
				l := mustAcquire(t, s, "x", session.Acquire{})
				waiter := wait(t, c.open(1), "x", session.Acquire{Wait: time.Minute})
				wantCode(t, c.nodes[i].Break(t.Context(), "x", l.Fence()+1, "", "a test"), session.CodeFenceMismatch)
				st, err := c.nodes[i].Inspect(t.Context(), "x")
				if err != nil {
					t.Fatal(err)
				}
				wantCode(t, c.nodes[i].Break(t.Context(), "x", l.Fence(), "u:1", "a test"), session.CodeFenceMismatch)
				if !held(l) {
					t.Fatal("broken by another fence, or as that of another owner")
				}
				if err := c.nodes[i].Break(t.Context(), "x", l.Fence(), st.Holder.Owner, "a test"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				select {
				case <-l.Done():
				default:
					t.Error("the holder was not told at once")
				}
				wantCode(t, l.Err(), session.CodeLost)
				if next := within(t, time.Second, waiter); next.Fence() <= l.Fence() {
					t.Errorf("next fence %d after %d", next.Fence(), l.Fence())
				}
				wantFree := func(err error) {
					t.Helper()
					if wantCode(t, err, session.CodeFenceMismatch); !strings.Contains(err.Error(), "the name is free") {
						t.Errorf("%v, want that the name is free", err)
					}
				}
				wantFree(c.nodes[i].Break(t.Context(), "y", 1, "", "a test"))
				again := mustAcquire(t, s, "z", session.Acquire{})
				mustRelease(t, s, "z")
				for _, owner := range []backend.Owner{"", st.Holder.Owner} {
					wantFree(c.nodes[i].Break(t.Context(), "z", again.Fence(), owner, "a test"))
				}
			})
		})
	}
}

// Of several who hold a name at one node only the one that is broken loses it, unless the
// node does not hear of that.
func TestBreakOfOne(t *testing.T) {
	for name, a := range map[string]session.Acquire{"shared": {Shared: true}, "permits": {Limit: 3}} {
		for _, deaf := range []bool{false, true} {
			t.Run(fmt.Sprint(name, deaf), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					f := &faulty{drop: func(m ledger.Addressed) bool { return deaf && m.Kind == ledger.Broken }}
					c := newCluster(t, 2, session.Config{}, hooked(f))
					first, second, third := mustAcquire(t, c.open(0), "x", a), mustAcquire(t, c.open(0), "x", a), mustAcquire(t, c.open(0), "x", a)
					before := c.record("x").Holds[0].ID
					wantCode(t, c.nodes[1].Break(t.Context(), "x", second.Fence(), first.Owner(), "a test"), session.CodeFenceMismatch)
					began := time.Now()
					if err := c.nodes[1].Break(t.Context(), "x", second.Fence(), second.Owner(), "a test"); err != nil {
						t.Fatal(err)
					}
					took := time.Since(began)
					if deaf {
						time.Sleep(15 * time.Second) // its watchdog hears of it
					}
					synctest.Wait()
					wantCode(t, second.Err(), session.CodeLost)
					if held(first) == deaf || held(third) == deaf {
						t.Errorf("deaf %v: the others hold it: %v, %v", deaf, held(first), held(third))
					}
					r := c.record("x")
					if h := r.Firm("n0"); (h == nil) != deaf || h != nil && (h.ID != before || len(h.Breaks) > 0) {
						t.Errorf("deaf %v: the store has %+v", deaf, r)
					}
					if deaf != (took >= engine.AskTime) {
						t.Errorf("deaf %v: it took %v", deaf, took)
					}
					if a.Limit > 0 {
						mustAcquire(t, c.open(1), "x", a)
					}
				})
			})
		}
	}
}

// A delay after a break keeps the name from everybody.
func TestBreakDelays(t *testing.T) {
	for i, where := range []string{"here", "elsewhere"} {
		t.Run(where, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 2, session.Config{Delay: 10 * time.Second}, nil)
				l := mustAcquire(t, c.open(0), "x", session.Acquire{})
				if err := c.nodes[i].Break(t.Context(), "x", l.Fence(), "", "a test"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				_, err := c.open(0).Acquire(t.Context(), "x", session.Acquire{Wait: 9 * time.Second})
				wantCode(t, err, session.CodeWaitTimeout)
				mustAcquire(t, c.open(1), "x", session.Acquire{Wait: 2 * time.Second})
			})
		})
	}
}

// A message that says so does not end a hold that the store has.
func TestBrokenIsAHint(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 1, session.Config{}, hooked(f))
		l := mustAcquire(t, c.open(0), "x", session.Acquire{})
		f.tell(ledger.Addressed{Name: "x", Message: ledger.Message{Kind: ledger.Look}})
		f.tell(ledger.Addressed{Name: "x", Message: ledger.Message{Kind: ledger.Look}})
		synctest.Wait()
		if !held(l) {
			t.Errorf("lost by a message: %v", l.Err())
		}
	})
}

// An administrator can free a name that is kept for its min_hold, at either gateway: it is
// shown as held.
func TestBreakOfAKeptName(t *testing.T) {
	for at, name := range []string{"where it is kept", "elsewhere"} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 2, session.Config{}, nil)
				s := c.open(0)
				l := mustAcquire(t, s, "x", session.Acquire{MinHold: time.Hour})
				mustRelease(t, s, "x")
				if err := c.nodes[at].Break(t.Context(), "x", l.Fence(), "", "a test"); err != nil {
					t.Errorf("not broken: %v", err)
				}
				mustAcquire(t, c.open(1), "x", session.Acquire{Wait: time.Second})
			})
		})
	}
}

// A break of which the store does not tell whether it is done is not said to be.
func TestBreakOfOneWithoutAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 2, session.Config{}, hooked(f))
		mustAcquire(t, c.open(1), "x", session.Acquire{Shared: true})
		l := mustAcquire(t, c.open(1), "x", session.Acquire{Shared: true})
		var written atomic.Bool
		f.set(func(verb string) error {
			if written.Load() {
				return errLost
			}
			written.Store(verb != "look")
			return nil
		}, nil)
		wantCode(t, c.nodes[0].Break(t.Context(), "x", l.Fence(), "", "a test"), session.CodeUnavailable)
		f.set(nil, nil)
	})
}
