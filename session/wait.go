package session

import (
	"context"
	"time"
)

// waitFor stands in the queue of name until l has its turn and may be told.
func (s *Session) waitFor(ctx context.Context, name string, a Acquire, h Holder, r *receipt) (*Lease, error) {
	select {
	case <-s.m.drained:
		return nil, s.m.drainingError(name)
	default:
	}
	if a.Wait > 0 {
		if err := s.cycle(want{name, a.mode()}, a.Thread); err != nil {
			return nil, err
		}
	}
	l := &Lease{
		s: s, name: name, thread: a.Thread, owner: h.Owner, ttl: a.TTL, fixed: a.Fixed, maxHold: a.MaxHold, minHold: a.MinHold,
		mode: a.mode(), holder: h, asked: h.Since, repeat: r, done: make(chan struct{}), wake: make(chan struct{}, 1),
		noWait: a.Wait == 0, curious: a.Wait > 0 && (a.OnQueued != nil || s.m.heard()), parentCtx: s.m.detach(ctx),
	}
	returns := false
	defer func() {
		if !returns && l.p != nil { // a panic: nobody is there to be told, and nobody must wait behind this one
			l.p.leave(l)
		}
	}()
	got, err := s.stand(ctx, l, a)
	returns = true
	return got, err
}

// stand is waitFor from the entry into the queue on.
func (s *Session) stand(ctx context.Context, l *Lease, a Acquire) (*Lease, error) {
	began := time.Now()
	q, err := s.m.enter(l)
	if err != nil {
		return nil, err
	}
	if q != nil {
		l.p.carry(q)
		if done, err := l.p.tell(l); done {
			return orNil(l, err)
		}
	}
	l.p.recordWait(l)
	code, limit := CodeWaitTimeout, a.Wait
	if l.noWait {
		code, limit = CodeLocked, s.m.cfg.Timeout
	}
	t := time.NewTimer(limit - time.Since(began))
	defer t.Stop()
	for {
		select {
		case <-l.wake:
			done, err := l.p.tell(l)
			if done {
				return orNil(l, err)
			}
			l.p.tellQueued(l, a.OnQueued)
		case <-t.C:
			if done, err := l.p.expire(l, code); done {
				return nil, err
			}
			t.Reset(limit + s.m.cfg.Timeout - time.Since(began))
		case <-ctx.Done():
			l.p.leave(l)
			return nil, ctx.Err()
		case <-s.ctx.Done():
			l.p.leave(l)
			return nil, s.gone(l.name)
		case <-s.m.drained:
			l.p.leave(l)
			return nil, s.m.drainingError(l.name)
		}
	}
}

func orNil(l *Lease, err *Error) (*Lease, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// enter puts l into the queue of its name. See place.enter for the request.
func (m *Manager) enter(l *Lease) (*request, error) {
	for {
		p := m.place(m.keyFor(l.name, l.mode))
		if p == nil {
			return nil, m.drainingError(l.name)
		}
		if ok, q, err := p.enter(l); ok {
			if err != nil {
				return nil, err
			}
			return q, nil
		}
	}
}

// tellQueued tells l's caller, if that is due, that it waits and behind whom.
func (p *place) tellQueued(l *Lease, f func(int, *Holder)) {
	p.mu.Lock()
	due := l.announce && l.phase == waiting
	var position int
	var holder *Holder
	if due {
		l.announce = false
		position, holder = p.position(l), p.holderNow()
		p.m.event(EventQueued, l, "")
	}
	p.mu.Unlock()
	if due && f != nil {
		f(position, holder)
	}
}
