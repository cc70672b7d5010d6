package session_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/session"
)

// outcome is what a parked acquire came to.
type outcome struct {
	grant session.Grant
	err   error
	times int
}

// parked is an acquire that has to wait and holds no goroutine. It may be read after
// synctest.Wait.
type parked struct {
	w  *session.Waiter
	mu sync.Mutex
	outcome
}

func (p *parked) told(g session.Grant, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outcome = outcome{g, err, p.times + 1}
}

func (p *parked) now() outcome {
	synctest.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outcome
}

func queue(t *testing.T, ctx context.Context, s *session.Session, a session.Acquire) *session.Waiter {
	t.Helper()
	g, w, err := s.BeginAcquire(ctx, "x", a)
	if w == nil {
		t.Fatalf("decided at once: %+v, %v", g, err)
	}
	return w
}

func park(t *testing.T, ctx context.Context, s *session.Session, a session.Acquire) *parked {
	t.Helper()
	p := &parked{w: queue(t, ctx, s, a)}
	p.w.Then(p.told)
	if o := p.now(); o.times != 0 {
		t.Fatalf("told at once: %+v", o)
	}
	return p
}

// over fails unless p was told once, an error with the code or, if that is "", a grant.
func (p *parked) over(t *testing.T, want session.Code) *session.Lease {
	t.Helper()
	o := p.now()
	if o.times != 1 {
		t.Fatalf("told %d times, want once", o.times)
	}
	if want != "" {
		wantCode(t, o.err, want)
		if o.grant.Lease != nil {
			t.Errorf("an error with a lease: %v", o.err)
		}
		return nil
	}
	if o.err != nil || !o.grant.New {
		t.Fatalf("told %+v, want a grant", o)
	}
	return o.grant.Lease
}

// free fails unless the name is free and nobody stands in line.
func free(t *testing.T, c *cluster) {
	t.Helper()
	synctest.Wait()
	if st := c.nodes[0].Stats(); st.Waiters != 0 || st.Holds != 0 {
		t.Errorf("%d waiters and %d holds are left", st.Waiters, st.Holds)
	}
	if _, err := c.open(0).Acquire(t.Context(), "x", session.Acquire{}); err != nil {
		t.Errorf("it is not free: %v", err)
	}
}

func TestBeginAcquireAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		s, other := c.open(0), c.open(0)
		for _, entered := range []bool{false, true} {
			g, w, err := s.BeginAcquire(t.Context(), "x", session.Acquire{Wait: time.Minute})
			if err != nil || w != nil || g.New == entered || !held(g.Lease) {
				t.Fatalf("of a free name: %+v, %v, %v", g, w, err)
			}
		}
		_, w, err := other.BeginAcquire(t.Context(), "x", session.Acquire{})
		if wantCode(t, err, session.CodeLocked); w != nil {
			t.Error("one who does not want to wait waits")
		}
		_, w, err = other.BeginAcquire(t.Context(), "", session.Acquire{Wait: time.Minute})
		if wantCode(t, err, session.CodeInvalid); w != nil {
			t.Error("a bad name is waited for")
		}
	})
}

// Each end of a wait is told, once, and leaves nobody in line.
func TestWaiterEnds(t *testing.T) {
	type scene struct {
		c              *cluster
		holder, waiter *session.Session
		cancel         func()
	}
	for name, tt := range map[string]struct {
		end  func(t *testing.T, s scene)
		code session.Code
	}{
		"granted":     {func(t *testing.T, s scene) { mustRelease(t, s.holder, "x") }, ""},
		"too late":    {func(*testing.T, scene) { time.Sleep(time.Minute) }, session.CodeWaitTimeout},
		"hung up":     {func(_ *testing.T, s scene) { s.cancel() }, session.CodeInternal},
		"session end": {func(t *testing.T, s scene) { s.waiter.End(t.Context(), "test") }, session.CodeSessionEnded},
		"draining":    {func(_ *testing.T, s scene) { s.c.nodes[0].Drain() }, session.CodeDraining},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				n := &notes{}
				c := newCluster(t, 1, session.Config{Observer: n}, nil)
				ctx, cancel := context.WithCancel(t.Context())
				var p *parked
				s := scene{c, c.open(0), c.open(0), func() { cancel(); p.w.Look() }}
				mustAcquire(t, s.holder, "x", session.Acquire{})
				p = park(t, ctx, s.waiter, session.Acquire{Wait: time.Minute})
				time.Sleep(10 * time.Second)
				tt.end(t, s)
				l := p.over(t, tt.code)
				if name == "hung up" && !errors.Is(p.now().err, context.Canceled) {
					t.Errorf("err = %v, want the caller's", p.now().err)
				}
				n.mu.Lock()
				told := n.acquired[1:]
				n.mu.Unlock()
				if len(told) != 1 || told[0].Wait < 10*time.Second || (told[0].Err == nil) != (tt.code == "") {
					t.Errorf("the observer was told %+v, want the wait, once", told)
				}
				s.cancel() // too late
				time.Sleep(time.Hour)
				p.over(t, tt.code)
				if l != nil {
					if !held(l) {
						t.Error("not held")
					}
					mustRelease(t, s.waiter, "x")
				} else if name != "draining" {
					mustRelease(t, s.holder, "x")
				}
				if name != "draining" {
					free(t, c)
				} else if st := c.nodes[0].Stats(); st.Waiters != 0 {
					t.Errorf("%d waiters are left", st.Waiters)
				}
			})
		})
	}
}

// What comes between the entry into the queue and Then is not missed.
func TestWaiterBeforeThen(t *testing.T) {
	for name, code := range map[string]session.Code{
		"granted": "", "hung up": session.CodeInternal, "too late": session.CodeWaitTimeout,
		"session end": session.CodeSessionEnded, "draining": session.CodeDraining,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := newCluster(t, 1, session.Config{}, nil)
				holder, waiter := c.open(0), c.open(0)
				mustAcquire(t, holder, "x", session.Acquire{})
				ctx, cancel := context.WithCancel(t.Context())
				w := queue(t, ctx, waiter, session.Acquire{Wait: time.Minute})
				switch name {
				case "granted":
					mustRelease(t, holder, "x")
				case "hung up":
					cancel()
					w.Look()
				case "session end":
					waiter.End(t.Context(), "test")
				case "draining":
					c.nodes[0].Drain()
				default:
					time.Sleep(2 * time.Minute)
				}
				synctest.Wait()
				p := &parked{}
				w.Then(p.told)
				synctest.Wait()
				time.Sleep(time.Nanosecond)
				p.over(t, code)
				cancel()
			})
		})
	}
}

// A grant and the end of the caller at the same time: it is told to one of them, and is
// nobody's otherwise.
func TestWaiterGrantedAndGone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		holder := c.open(0)
		for range 50 {
			waiter := c.open(0)
			mustAcquire(t, holder, "x", session.Acquire{})
			ctx, cancel := context.WithCancel(t.Context())
			p := park(t, ctx, waiter, session.Acquire{Wait: time.Minute})
			go func() { cancel(); p.w.Look() }()
			go waiter.End(context.Background(), "test")
			mustRelease(t, holder, "x")
			if o := p.now(); o.times != 1 {
				t.Fatalf("told %d times", o.times)
			}
			synctest.Wait()
			if st := c.nodes[0].Stats(); st.Holds+st.Waiters > 0 {
				t.Fatalf("left are %+v after %+v", st, p.now())
			}
		}
	})
}

// While it is parked an acquire counts as any other: in limits, in lists, as a sign of
// life, for the next one of the same owner, and for who would close a cycle.
func TestWaiterCounts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{Limits: session.Limits{WaitsPerSession: 1}}, nil)
		holder, waiter := c.open(0), c.open(0, session.Options{Keepalive: time.Minute, Peer: session.NoPeer()})
		mustAcquire(t, holder, "x", session.Acquire{})
		mustAcquire(t, waiter, "y", session.Acquire{})
		p := park(t, t.Context(), waiter, session.Acquire{Wait: 5 * time.Minute})
		time.Sleep(4 * time.Minute) // silent, but there
		if ws := waiter.Waits(); len(ws) != 1 || ws[0].Name != "x" {
			t.Errorf("it waits for %v", ws)
		}
		_, err := waiter.Acquire(t.Context(), "z", session.Acquire{Wait: time.Minute})
		wantCode(t, err, session.CodeTooManyWaiters)
		_, err = holder.Acquire(t.Context(), "y", session.Acquire{Wait: time.Minute})
		wantCode(t, err, session.CodeConflict)
		second := wait(t, waiter, "x", session.Acquire{Wait: 5 * time.Minute})
		mustRelease(t, holder, "x")
		l := p.over(t, "")
		if again := within(t, 0, second); again != l {
			t.Error("the second acquire of the same owner did not enter again")
		}
	})
}

// A defect met on the way ends the wait: the process lives on, and nothing is held.
func TestWaiterPanics(t *testing.T) {
	for _, where := range []string{"Name).Accept", "Session).acquired"} {
		t.Run(where, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				clock := new(jumpy)
				o := &panicking{where: where}
				c := newCluster(t, 1, session.Config{Clock: clock.now, Observer: o}, nil)
				holder, waiter := c.open(0), c.open(0)
				mustAcquire(t, holder, "x", session.Acquire{})
				p := park(t, t.Context(), waiter, session.Acquire{Wait: time.Minute})
				o.armed = true
				clock.when("Name).Accept", func() {
					if where == "Name).Accept" {
						panic("a defect of the clock")
					}
				})
				mustRelease(t, holder, "x")
				p.over(t, session.CodeInternal)
				synctest.Wait()
				mustAcquire(t, waiter, "x", session.Acquire{}) // the same owner
				mustRelease(t, waiter, "x")
				free(t, c)
			})
		})
	}
}

// panicking is an observer with a defect, which shows at the end of an acquire.
type panicking struct {
	notes
	where string
	armed bool
}

func (p *panicking) Acquired(ctx context.Context, a session.Acquired) {
	if p.armed && p.where == "Session).acquired" {
		p.armed = false
		panic("a defect of the observer")
	}
	p.notes.Acquired(ctx, a)
}

// Who is parked holds no goroutine.
func TestWaiterGoroutines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		holder := c.open(0)
		mustAcquire(t, holder, "x", session.Acquire{})
		before := runtime.NumGoroutine()
		const waiters = 100
		all, sessions := make([]*parked, waiters), make([]*session.Session, waiters)
		for i := range all {
			sessions[i] = c.open(0)
			all[i] = park(t, t.Context(), sessions[i], session.Acquire{Wait: 5 * time.Minute})
		}
		if more := runtime.NumGoroutine() - before; more > 10 {
			t.Errorf("%d waiters hold %d goroutines", waiters, more)
		}
		mustRelease(t, holder, "x")
		for i, p := range all {
			p.over(t, "")
			mustRelease(t, sessions[i], "x")
		}
	})
}
