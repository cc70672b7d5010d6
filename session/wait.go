package session

import (
	"cmp"
	"context"
	"time"

	"github.com/lockgw/lockgw/session/contender"
)

// stand puts l into the queue of its name. waits: that is not decided yet; else l is granted and
// may be told, if there is no error.
func (s *Session) stand(ctx context.Context, l *Lease, a *Acquire, r *receipt) (waits bool, err error) {
	if s.m.drained.Err() != nil {
		return false, s.m.drainingError(l.name)
	}
	if a.Wait > 0 {
		if err := s.cycle(want{l.name, l.c.Mode}, l.thread); err != nil {
			return false, err
		}
	}
	l.c.TTL, l.c.Fixed, l.c.MaxHold, l.c.MinHold = a.TTL, a.Fixed, a.MaxHold, a.MinHold
	h := s.holder(l.thread, a.Note)
	h.Since = l.asked
	l.c.Owner, l.c.About = h.Owner, h.record()
	l.c.NoWait, l.c.Curious = l.tries, !l.tries && (a.OnQueued != nil || s.m.events.Heard())
	l.holder, l.hurried, l.repeat, l.parentCtx = h, l.tries, r, s.m.detach(ctx)
	n, errand, err := s.m.engine.Enter(l.name, &l.c)
	if err != nil {
		return false, s.m.drainingError(l.name)
	}
	l.n = n
	errand.Do(cmp.Or(l.parentCtx, context.Background())) // without the caller's end
	if done, err := l.tell(a.late(), a.OnQueued); done {
		return false, orNil(err)
	}
	l.recordWait()
	return true, nil
}

// leave ends l's wait. If it was granted meanwhile, that goes to the next.
func (l *Lease) leave() { l.n.Release(&l.c).Launch() }

// late is what an acquire is refused by when its wait is over.
func (a *Acquire) late() Code {
	if a.Wait == 0 {
		return CodeLocked
	}
	return CodeWaitTimeout
}

func orNil(err *Error) error {
	if err != nil {
		return err
	}
	return nil
}

// tell is how a caller learns what has become of l: it holds the name (done, and no
// error), or it is refused, or it has to wait, of which f is told once.
func (l *Lease) tell(code Code, f func(int, *Holder)) (done bool, err *Error) {
	l.mu.Lock()
	refused, granted, announce := l.refused, l.granted, l.announce
	l.granted, l.announce = false, false
	l.mu.Unlock()
	switch {
	case refused != 0:
		return true, l.refusal(code, refused)
	case granted && l.n.Accept(&l.c):
		return true, nil
	case announce:
		l.tellQueued(f)
	}
	return false, nil
}

// news: tell has something to tell.
func (l *Lease) news() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused != 0 || l.granted || l.announce
}

// tellQueued tells l's caller that it waits and behind whom.
func (l *Lease) tellQueued(f func(int, *Holder)) {
	position := 0
	var holder *Holder
	l.n.See(func(c *contender.Contender, now time.Duration) {
		if l.c.Waits() {
			position, holder = l.position(c), l.m.holderOf(c, now)
			l.m.event(EventQueued, l, "")
		}
	})
	if position > 0 && f != nil {
		f(position, holder)
	}
}

// expire is called when l's wait is over. It is refused if the name is known to be
// another's; if that is not known, or to be settled within the time a request to the
// store may take, it gets that time (done is false).
func (l *Lease) expire(code Code) (done bool, err *Error) {
	l.mu.Lock()
	granted, hurried := l.granted, l.hurried
	l.hurried, l.late = true, l.late || !hurried
	l.mu.Unlock()
	if granted { // the signal is under way
		return false, nil
	}
	known := false
	l.n.See(func(c *contender.Contender, _ time.Duration) {
		known = l.c.Waits() && l.sure(c) && !c.Unknown() && !c.Granting()
	})
	err = l.refusal(code, 0)
	if !hurried && (!known || err.Code == CodeOutcomeUnknown) { // the latter since that look
		l.n.Hurry(&l.c)
		return false, nil
	}
	l.leave()
	return true, err
}

// follow waits for another acquire of the same owner; what is left of a.Wait is
// for this one.
func (s *Session) follow(ctx context.Context, other *Lease, a *Acquire) error {
	began := s.m.cfg.Clock()
	t := time.NewTimer(a.Wait)
	defer t.Stop()
	select {
	case <-other.decided:
		a.Wait = max(a.Wait-(s.m.cfg.Clock()-began), 0)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ctx.Done():
		return s.gone(other.name)
	case <-t.C:
		return &Error{
			Code: a.late(), Lock: other.name, RetryAfter: time.Second,
			Detail: "another request of the same session and thread waits for the lock",
		}
	}
}
