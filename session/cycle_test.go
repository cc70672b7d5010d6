package session_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// Each of n sessions holds a name and waits for the next one's; the last wait would
// close the circle.
func TestCycleOfWaits(t *testing.T) {
	for _, n := range []int{2, 3} {
		for _, strict := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d sessions, strict %v", n, strict), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					c := newCluster(t, 1, session.Config{Fairness: session.Fairness{Strict: strict}}, nil)
					name := func(i int) string { return fmt.Sprintf("lock-%d", i%n) }
					var all []*session.Session
					for i := range n {
						all = append(all, c.open(0))
						mustAcquire(t, all[i], name(i), session.Acquire{})
					}
					var waits []<-chan *session.Lease
					for i := range n - 1 {
						waits = append(waits, wait(t, all[i], name(i+1), session.Acquire{Wait: time.Minute}))
					}
					last := all[n-1]
					_, err := last.Acquire(t.Context(), name(0), session.Acquire{Wait: time.Minute})
					e := refusedFor(t, err, session.CodeConflict, name(0))
					if e.Holder == nil || !strings.Contains(e.Detail, name(n-1)) {
						t.Errorf("err = %+v, want the holder, and %s to release", e, name(n-1))
					}
					_, err = last.AcquireAll(t.Context(), []string{"free", name(0)}, session.Acquire{Wait: time.Minute})
					refusedFor(t, err, session.CodeConflict, name(0))
					c.wantFree("free")
					_, err = last.Acquire(t.Context(), name(0), session.Acquire{})
					wantCode(t, err, session.CodeLocked) // a try waits for nobody
					mustRelease(t, last, name(n-1))
					within(t, time.Second, waits[n-2])
				})
			})
		}
	}
}

// Two who close a circle at the same time do not both wait.
func TestCycleClosedByTwoAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		for i := range 100 {
			a, b := c.open(0), c.open(0)
			x, y := fmt.Sprint("x", i), fmt.Sprint("y", i)
			mustAcquire(t, a, x, session.Acquire{})
			mustAcquire(t, b, y, session.Acquire{})
			began := time.Now()
			first := make(chan error, 2)
			for s, name := range map[*session.Session]string{a: y, b: x} {
				go func() {
					_, err := s.Acquire(t.Context(), name, session.Acquire{Wait: time.Minute})
					first <- err
				}()
			}
			wantCode(t, <-first, session.CodeConflict)
			if d := time.Since(began); d > time.Second {
				t.Fatalf("both waited for %v", d)
			}
			a.End(t.Context(), "test")
			b.End(t.Context(), "test")
			<-first
		}
	})
}

func TestNoCycle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 2, session.Config{}, nil)
		for i, tt := range []struct {
			what   string
			node   int   // of the second session
			thread int64 // by which the first one waits
			wait   time.Duration
		}{
			{"another node cannot be seen, so the wait runs its time", 1, 1, time.Minute},
			{"another thread can release what the first one waits for", 0, 2, time.Minute},
		} {
			a, b := c.open(0), c.open(tt.node)
			x, y := fmt.Sprint("x", i), fmt.Sprint("y", i)
			mustAcquire(t, a, x, session.Acquire{})
			mustAcquire(t, b, y, session.Acquire{})
			wait(t, b, x, session.Acquire{Wait: 2 * time.Minute})
			_, err := a.Acquire(t.Context(), y, session.Acquire{Wait: tt.wait, Thread: tt.thread})
			if session.CodeOf(err) != session.CodeWaitTimeout {
				t.Errorf("%s: err = %v, want a timeout", tt.what, err)
			}
			mustRelease(t, a, x)
		}
	})
}

// Who waits for the holder's other names, or behind others, is in no circle.
func TestWaitBehindAWaiterIsNoCycle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		a, b, d := c.open(0), c.open(0), c.open(0)
		mustAcquire(t, a, "x", session.Acquire{})
		mustAcquire(t, b, "y", session.Acquire{})
		mustAcquire(t, d, "z", session.Acquire{})
		first := wait(t, b, "x", session.Acquire{Wait: time.Minute})
		second := wait(t, d, "x", session.Acquire{Wait: time.Minute})
		third := wait(t, d, "y", session.Acquire{Wait: time.Minute, Thread: 2})
		mustRelease(t, a, "x")
		within(t, time.Second, first)
		mustRelease(t, b, "x")
		within(t, time.Second, second)
		mustRelease(t, b, "y")
		within(t, time.Second, third)
	})
}

// Another's try, which is about to be answered, is no wait.
func TestTryIsNoCycle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := &faulty{}
		c := newCluster(t, 1, session.Config{Fairness: session.Fairness{Strict: true}}, hooked(f))
		a, b := c.open(0), c.open(0)
		mustAcquire(t, a, "x", session.Acquire{})
		mustAcquire(t, b, "y", session.Acquire{})
		f.set(func(verb string) error {
			if verb == "acquire" || verb == "write" {
				time.Sleep(time.Second)
			}
			return nil
		}, nil)
		tried := wait(t, b, "x", session.Acquire{})
		got := wait(t, a, "y", session.Acquire{Wait: time.Minute})
		if l := <-tried; l != nil {
			t.Errorf("x was granted twice")
		}
		mustRelease(t, b, "y")
		within(t, 5*time.Second, got)
	})
}

// Two others can come to wait for each other by a grant, if one of them waits for
// two names at once. Who meets them on the way is neither refused nor held up.
func TestCycleOfOthers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		a, b, d, e := c.open(0), c.open(0), c.open(0), c.open(0)
		mustAcquire(t, a, "mine", session.Acquire{})
		mustAcquire(t, b, "p", session.Acquire{})
		mustAcquire(t, e, "q", session.Acquire{})
		first := wait(t, d, "q", session.Acquire{Wait: time.Minute})
		wait(t, b, "q", session.Acquire{Wait: time.Minute})
		wait(t, d, "p", session.Acquire{Wait: time.Minute})
		mustRelease(t, e, "q")
		within(t, time.Second, first)
		_, err := a.Acquire(t.Context(), "q", session.Acquire{Wait: time.Second})
		refusedFor(t, err, session.CodeWaitTimeout, "q")
	})
}

// Who shares a name is not kept out by others who do, but for one who wants it alone
// and waits already.
func TestCycleOfThoseWhoShare(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		a, b, writer := c.open(0), c.open(0), c.open(0)
		shared := session.Acquire{Shared: true, Wait: time.Minute}
		mustAcquire(t, a, "y", session.Acquire{})
		mustAcquire(t, b, "x", shared)
		got := wait(t, b, "y", session.Acquire{Wait: time.Minute})
		mustAcquire(t, a, "x", shared)
		mustRelease(t, a, "x")

		alone := wait(t, writer, "x", session.Acquire{Wait: time.Minute})
		_, err := a.Acquire(t.Context(), "x", shared)
		refusedFor(t, err, session.CodeConflict, "x")
		mustRelease(t, a, "y")
		within(t, time.Second, got)
		mustRelease(t, b, "x")
		within(t, time.Second, alone)
	})
}

// A name that is kept for its min_hold is waited for by time alone, whoever had it: also when
// the session is no more, and this is the next process.
func TestKeptNameIsNoCycle(t *testing.T) {
	for what, ends := range map[string]bool{"the session goes on": false, "it has ended": true} {
		t.Run(what, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := begin(t, memory.NewRows(), session.Config{})
				first, _ := p.open(patient)
				mustAcquire(t, first, "kept", session.Acquire{MinHold: 30 * time.Second})
				mustRelease(t, first, "kept")
				if ends {
					first.End(t.Context(), "a test")
					p = p.restart()
					first, _ = p.open(patient)
				}
				mustAcquire(t, first, "a", session.Acquire{})
				again := wait(t, first, "kept", session.Acquire{Wait: time.Minute}) // by who has it still, as far as the store knows
				second, _ := p.open(patient)
				mustAcquire(t, second, "b", session.Acquire{})
				other := wait(t, second, "kept", session.Acquire{Wait: time.Minute})
				time.Sleep(29 * time.Second)
				select {
				case <-again:
					t.Error("granted before the end of min_hold")
				default:
				}
				within(t, 2*time.Second, again)
				mustRelease(t, first, "kept")
				within(t, time.Second, other)
			})
		})
	}
}
