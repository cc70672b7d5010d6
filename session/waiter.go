package session

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Waiter is an acquire that stands in the queue of its name. It is over once, by what comes
// first: it is granted or refused, its Wait is over, the caller's ctx is done, the session
// ends, the gateway drains. All of these do no more than have somebody look, who finds out
// which it was (look) and ends it (end), on a goroutine that is made for that or on that of
// whoever has passed the name on.
type Waiter struct {
	s     *Session
	l     *Lease
	ctx   context.Context // the caller's, as Observer.Begin has made it
	a     Acquire
	began time.Time // the acquire; the wait began at l.asked

	late  atomic.Bool // the timer has gone off since somebody looked
	ended bool        // finish was called
	then  func(Grant, error)
	timer *time.Timer
	pokes atomic.Int32 // since somebody began to look; 0: nobody looks; 1 or more until the end of Then
}

func (s *Session) newWaiter(ctx context.Context, l *Lease, a *Acquire, began time.Time) *Waiter {
	w := &Waiter{s: s, l: l, ctx: ctx, a: *a, began: began}
	w.pokes.Store(1)
	return w
}

// wait is Then for a caller who blocks until the wait is over.
func (w *Waiter) wait() (g Grant, err error) {
	over := make(chan struct{})
	w.Then(func(granted Grant, why error) {
		g, err = granted, why
		close(over)
	})
	select {
	case <-over:
		return g, err
	case <-w.ctx.Done():
	}
	w.Look()
	<-over
	return g, err
}

// Then has f called with what Acquire would return, once, on any goroutine, which f must not
// block. No goroutine stands still until then. A defect of the gateway is CodeInternal,
// after which nothing is held. Manager.Close ends the wait, and does not wait for f.
//
// Nothing watches the caller's ctx, for which each wait would keep 400 bytes more: who ends it
// has to call Look then.
func (w *Waiter) Then(f func(Grant, error)) {
	w.then = f
	w.timer = time.AfterFunc(w.left(), func() { w.late.Store(true); w.poke() })
	if w.park() {
		w.poke()
	}
	if !w.pokes.CompareAndSwap(1, 0) { // whoever has poked so far has left it to this
		go w.Take()
	}
}

// Look ends the wait if the caller's ctx is done. It does not block, and may be called at any
// time, also before Then and after the end.
func (w *Waiter) Look() { w.poke() }

// park has w poked, from now on, by the end of the session, by Drain, and when its lease has
// something to tell. news: one of these came before.
func (w *Waiter) park() (news bool) {
	w.l.parked.Store(w)
	return w.l.news() || w.gone() != nil
}

// pokeAll has all look that wait on behalf of s.
func (s *Session) pokeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pokeAllLocked()
}

func (s *Session) pokeAllLocked() {
	for _, l := range s.waiting {
		l.signal()
	}
}

// poke has somebody look. It does not block, and may be called with the name locked, or the
// session.
func (w *Waiter) poke() {
	if w.poked() {
		go w.Take()
	}
}

// poked is poke, but for Take: where that is missing, it is left to who calls, which is true.
func (w *Waiter) poked() bool { return w.pokes.Add(1) == 1 }

// Take implements engine.Turn. It looks until nobody has poked meanwhile. After the end pokes
// stays above 0, and nobody looks any more.
func (w *Waiter) Take() {
	for {
		n := w.pokes.Load()
		g, over, err := w.advance()
		if over {
			w.then(g, err)
			return
		}
		if w.pokes.CompareAndSwap(n, 0) {
			return
		}
	}
}

// advance is look and end. A panic ends the wait as an error: it must not end the process.
func (w *Waiter) advance() (g Grant, over bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.s.m.cfg.Log.Error("acquire failed", "lock", w.l.name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			w.giveUp()
			g, over, err = Grant{}, true, &Error{Code: CodeInternal, Lock: w.l.name, Detail: "a defect in the gateway; its log says more"}
		}
		if over { // nothing pokes w any more
			w.l.parked.Store(nil)
			w.timer.Stop()
		}
	}()
	if over, err = w.look(); over {
		g, err = w.end(err)
	}
	return g, over, err
}

// left is how long w goes on to wait. Who does not want to wait is given the time that a
// request to the store may take.
func (w *Waiter) left() time.Duration {
	limit := w.a.Wait
	if limit == 0 {
		limit = w.s.m.cfg.Timeout
	}
	return limit - time.Since(w.l.asked)
}

// look says whether the wait is over; an error: and why it was in vain. The timer is set
// anew if its end has come and the store still has to say something.
func (w *Waiter) look() (over bool, err error) {
	if err := w.gone(); err != nil {
		w.l.leave()
		return true, err
	}
	if done, err := w.l.tell(w.a.late(), w.a.OnQueued); done {
		return true, orNil(err)
	}
	if !w.late.Swap(false) {
		return false, nil
	}
	if done, err := w.l.expire(w.a.late()); done {
		return true, orNil(err)
	}
	w.timer.Reset(w.left() + w.s.m.cfg.Timeout)
	return false, nil
}

// gone is why nobody wants the name any more; nil: somebody does.
func (w *Waiter) gone() error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	return w.s.gone(w.l.name)
}

// end makes the result of a wait that is over, and tells it to those who keep account.
func (w *Waiter) end(err error) (g Grant, _ error) {
	s, l := w.s, w.l
	w.ended = true
	if err = s.finish(l, err); err == nil {
		g = Grant{Lease: l, New: true}
	}
	s.decided(w.ctx, l.name, &w.a, g, err, w.began)
	return g, err
}

// giveUp is called after a panic: nobody is told of l, which must not be held, and nobody
// must wait behind it or for it.
func (w *Waiter) giveUp() {
	if w.ended {
		w.l.setUntold(true)
		if errand, err := w.l.end("the gateway failed"); err == nil {
			errand.Launch()
		}
		return
	}
	w.l.leave()
	_ = w.s.finish(w.l, errPanic)
}
