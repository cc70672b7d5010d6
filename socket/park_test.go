package socket

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// heldUp is an observer that holds up the end of an acquire, when its caller is not told yet.
type heldUp struct {
	at  func(session.Acquired) // may block; nil: nothing
	mu  sync.Mutex
	all []session.Acquired
}

func (h *heldUp) Acquired(_ context.Context, a session.Acquired) {
	h.mu.Lock()
	h.all = append(h.all, a)
	h.mu.Unlock()
	if h.at != nil {
		h.at(a)
	}
}

func (h *heldUp) Begin(ctx context.Context, _ session.Operation) context.Context { return ctx }
func (h *heldUp) Given(context.Context, session.Given)                           {}
func (h *heldUp) Detach(context.Context) context.Context                         { return nil }
func (h *heldUp) Ended(session.HoldEnded)                                        {}
func (h *heldUp) Renewed(session.Renewed)                                        {}

// option has h told.
func (h *heldUp) option(o *setup) { o.session.Observer = h }

// A connection that waits for a lock has one goroutine, which reads it.
func TestGoroutinesOfWaiters(t *testing.T) {
	const waiters, rest = 100, 10
	g := start(t)
	holder := g.dial()
	holder.lock("a")
	before := runtime.NumGoroutine()
	var all []*wire
	for range waiters {
		w := g.dial()
		w.send("LOCK", "a", "WAIT", "300")
		all = append(all, w)
	}
	g.waiters(waiters)
	eventually(t, fmt.Sprintf("%d goroutines for %d waiters", waiters, waiters), func() bool {
		return runtime.NumGoroutine()-before <= waiters+rest
	})
	time.Sleep(2 * patience) // after which a second one would read
	if n := runtime.NumGoroutine() - before; n > waiters+rest {
		t.Errorf("%d waiters have %d goroutines", waiters, n)
	}
	holder.want(int64(0), "UNLOCK", "a")
	served := make(chan error, waiters)
	for _, w := range all {
		go func() {
			if fence, _ := w.read().(int64); fence == 0 {
				served <- errors.New("not granted")
				return
			}
			w.send("UNLOCK", "a")
			if left := w.read(); left != int64(0) {
				served <- fmt.Errorf("UNLOCK = %v", left)
				return
			}
			served <- nil
		}()
	}
	for range all {
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// What was answered before a wait does not wait with it, whoever executes it.
func TestAnswersBeforeAWait(t *testing.T) {
	g := start(t)
	a, b := g.dial(), g.dial()
	a.lock("x")
	a.lock("y")
	b.write("LOCK x WAIT 60\nPING\nLOCK y WAIT 60\nPING\n")
	g.waiters(1)
	a.want(int64(0), "UNLOCK", "x")
	if fence, _ := b.read().(int64); fence == 0 {
		t.Error("LOCK x was not granted")
	}
	if got := b.read(); got != "PONG" {
		t.Errorf("PING between two waits = %v", got)
	}
	g.waiters(1)
	b.silent()
	a.want(int64(0), "UNLOCK", "y")
	if fence, _ := b.read().(int64); fence == 0 {
		t.Error("LOCK y was not granted")
	}
	if got := b.read(); got != "PONG" {
		t.Errorf("PING behind two waits = %v", got)
	}
	b.want("PONG", "PING")
}

// Nor does the answer to a wait, with a command behind it that blocks where it is executed, as a
// LOCK with REQ that waits.
func TestAnswerBeforeACommandThatBlocks(t *testing.T) {
	g := start(t)
	a, b := g.dial(), g.dial()
	a.lock("x")
	a.lock("y")
	c := g.side(b)
	b.write("LOCK x WAIT 300\nPING\nLOCK y WAIT 300 REQ 1\nPING\n")
	g.waiters(1)
	eventually(t, "the rest is read", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.queue) == 3 })
	a.want(int64(0), "UNLOCK", "x")
	if fence, _ := b.read().(int64); fence == 0 {
		t.Error("LOCK x was not granted")
	}
	if got := b.read(); got != "PONG" {
		t.Errorf("PING between two waits = %v", got)
	}
	g.waiters(1)
	a.want(int64(0), "UNLOCK", "y")
	if fence, _ := b.read().(int64); fence == 0 {
		t.Error("LOCK y was not granted")
	}
	if got := b.read(); got != "PONG" {
		t.Errorf("PING behind two waits = %v", got)
	}
}

// TestHangUpAtGrant, of one who has waited.
func TestHangUpAtGrantAfterAWait(t *testing.T) {
	granted, gone := make(chan struct{}), make(chan struct{})
	h := &heldUp{at: func(a session.Acquired) {
		if a.Err == nil && a.Ahead == 0 && a.Path == session.WakeLocal {
			close(granted)
			<-gone
		}
	}}
	g := start(t, h.option)
	holder, a, b := g.dial(), g.dial3(), g.dial()
	token := a.token()
	b.want("OK", "AUTH", token)
	holder.lock("a")
	c := g.side(b)
	b.send("LOCK", "a", "WAIT", "60")
	g.waiters(1)
	holder.send("UNLOCK", "a")
	<-granted
	b.Close()
	<-c.ctx.Done()
	close(gone)
	if got := holder.read(); got != int64(0) {
		t.Errorf("UNLOCK = %v", got)
	}
	g.connections(2)
	a.wantError("NOTHELD", "UNLOCK", "a")
	holder.lock("a")
}

// A connection of a session whose other connections live on leaves the line at once.
func TestHangUpOfOneOfTwo(t *testing.T) {
	h := &heldUp{}
	g := start(t, h.option)
	holder, a, b := g.dial(), g.dial3(), g.dial()
	token := a.token()
	b.want("OK", "AUTH", token)
	holder.lock("a")
	b.send("LOCK", "a", "WAIT", "60")
	g.waiters(1)
	b.Close()
	g.waiters(0)
	g.connections(2)
	a.send("LOCK", "a", "WAIT", "60")
	g.waiters(1)
	holder.want(int64(0), "UNLOCK", "a")
	if fence, _ := a.read().(int64); fence == 0 {
		t.Error("the other connection was not granted")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.all) != 3 || !errors.Is(h.all[1].Err, context.Canceled) {
		t.Errorf("the ends of acquires are %+v, want three, the second of who hung up", h.all)
	}
}

// A wait belongs to the server, also when nobody reads the connection any more: a shutdown
// waits for its end.
func TestShutdownAwaitsTheParked(t *testing.T) {
	ended, goOn := make(chan struct{}), make(chan struct{})
	h := &heldUp{at: func(a session.Acquired) {
		if a.Err != nil {
			close(ended)
			<-goOn
		}
	}}
	g := start(t, h.option)
	holder, b := g.dial(), g.dial()
	holder.lock("a")
	c := g.side(b)
	b.send("LOCK", "a", "WAIT", "60")
	g.waiters(1)
	b.Close()
	<-ended
	eventually(t, "nobody reads", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.unread })
	done := stop(t.Context(), g)
	holder.rest()
	select {
	case err := <-done:
		t.Errorf("shut down before the end of a wait: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// A defect met after a wait is an error for who waited, who goes on, and nothing is held.
func TestPanicAfterAWait(t *testing.T) {
	h := &heldUp{at: func(a session.Acquired) {
		if a.Path == session.WakeLocal {
			panic("a defect")
		}
	}}
	g := start(t, h.option)
	holder, b := g.dial(), g.dial()
	holder.lock("a")
	b.send("LOCK", "a", "WAIT", "60")
	g.waiters(1)
	b.write("PING\n")
	holder.want(int64(0), "UNLOCK", "a")
	if got := fmt.Sprint(b.read()); !strings.HasPrefix(got, "ERR ") {
		t.Errorf("LOCK = %s, want ERR", got)
	}
	if got := b.read(); got != "PONG" {
		t.Errorf("PING behind it = %v, want PONG", got)
	}
	eventually(t, "nothing is held", func() bool { return g.m.Stats().Holds == 0 })
	holder.lock("a")
}

// A defect in writing the answer gives the lock back, and the connection goes on.
func TestPanicAtTheAnswer(t *testing.T) {
	for name, waits := range map[string]bool{"at once": false, "after a wait": true} {
		t.Run(name, func(t *testing.T) {
			var armed atomic.Bool
			g := start(t, func(o *setup) {
				o.session.Clock = func() time.Duration {
					if calledBy(".writeGrant") && armed.Swap(false) {
						panic("a defect")
					}
					return session.Boottime()
				}
			})
			holder, w := g.dial(), g.dial()
			if waits {
				holder.lock("a")
			}
			armed.Store(!waits)
			w.write("LOCK a WAIT 60\nPING\n")
			if waits {
				g.waiters(1)
				armed.Store(true)
				holder.want(int64(0), "UNLOCK", "a")
			}
			if got := fmt.Sprint(w.read()); !strings.HasPrefix(got, "ERR ") {
				t.Errorf("LOCK = %s, want ERR", got)
			}
			if got := w.read(); got != "PONG" {
				t.Errorf("PING behind it = %v, want PONG", got)
			}
			eventually(t, "nothing is held", func() bool { return g.m.Stats().Holds == 0 })
		})
	}
}

func calledBy(name string) bool {
	pc := make([]uintptr, 16)
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, name) {
			return true
		}
		if !more {
			return false
		}
	}
}

// A timer that goes off late must not have a second goroutine read, though nobody waits
// any more.
func TestNoHandOverAfterAWait(t *testing.T) {
	g := start(t)
	a, b := g.dial(), g.dial()
	a.lock("a")
	c := g.side(b)
	b.write("LOCK a WAIT 60\n")
	g.waiters(1)
	a.want(int64(0), "UNLOCK", "a")
	if fence, _ := b.read().(int64); fence == 0 {
		t.Error("LOCK was not granted")
	}
	done := make(chan struct{})
	go func() { c.handOver(); close(done) }()
	select {
	case <-done:
	case <-time.After(slack):
		t.Error("a second goroutine reads")
		b.Close()
		<-done
	}
}

// Many who wait, give up, hang up and send more at the same time: all that is sent is
// answered in order, and nothing is left.
func TestParkedStorm(t *testing.T) {
	g := start(t)
	const clients, rounds = 24, 40
	var wg sync.WaitGroup
	for i := range clients {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		wg.Go(func() {
			w := g.dial()
			for range rounds {
				switch rng.IntN(6) {
				case 0: // hangs up under a wait
					w.write("LOCK a WAIT 60\nPING\n")
					time.Sleep(time.Duration(rng.IntN(3)) * time.Millisecond)
					w.Close()
					w = g.dial()
					continue
				case 1: // gives up
					w.write("LOCK a WAIT 0.001\nUNLOCK a\nECHO end\n")
				case 2: // a wait behind a wait
					w.write("LOCK a WAIT 60\nLOCK b WAIT 60\nUNLOCK b\nUNLOCK a\nECHO end\n")
				default:
					w.write("LOCK a WAIT 60\nUNLOCK a\nECHO end\n")
				}
				for n := 0; ; n++ {
					if v := w.read(); v == "end" {
						break
					} else if n > 4 {
						t.Errorf("answer %d is %v", n, v)
						return
					}
				}
			}
			w.Close()
		})
	}
	wg.Wait()
	eventually(t, "nothing is left", func() bool {
		st := g.m.Stats()
		return st.Holds == 0 && st.Waiters == 0 && st.Sessions == 0
	})
	g.connections(0)
}

// A client that does not read is cut off; what it is granted then, it does not hear of, and its
// session, which has another connection, does not keep.
func TestGrantToOneWhoDoesNotRead(t *testing.T) {
	g := start(t)
	holder, a, b := g.dial(), g.dial3(), g.dial()
	b.want("OK", "AUTH", a.token())
	holder.lock("x")
	c := g.side(b)
	b.send("LOCK", "x", "WAIT", "300")
	g.waiters(1)
	much := make([]byte, 1<<20)
	c.out.add(much)
	c.out.flushSoon()
	eventually(t, "it is being written", func() bool { c.out.mu.Lock(); defer c.out.mu.Unlock(); return len(c.out.buf) == 0 })
	c.out.add(much)
	holder.want(int64(0), "UNLOCK", "x")
	g.connections(2)
	a.wantError("NOTHELD", "UNLOCK", "x")
	holder.lock("x")
}
