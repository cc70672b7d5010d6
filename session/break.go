package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Break ends the hold of name by force, whoever has it, if fence is the one that
// Inspect tells. Its holder is told that it is lost, reason "broken"; nobody gets
// the name for Config.Delay. by says who asks for it, for the audit record in the log;
// whether they may is the caller's business. CodeInvalid; CodeNotOwner, when nobody holds it; CodeFenceMismatch;
// CodeUnavailable.
func (m *Manager) Break(ctx context.Context, name string, fence backend.Fence, by string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	err := m.breakHold(ctx, name, fence)
	log := m.cfg.Log.With("audit", "break", "lock", name, "fence", uint64(fence), "by", by)
	if err != nil {
		log.Warn("a lock was not broken", "err", err)
		return err
	}
	log.Warn("a lock was broken")
	return nil
}

func (m *Manager) breakHold(ctx context.Context, name string, fence backend.Fence) error {
	for _, p := range m.placesOf(name) {
		if done, err := p.breakTurn(ctx, fence); done {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	r := backend.Request{Name: name, Turn: fence, Delay: m.cfg.Delay}
	st, err := m.b.Inspect(ctx, name)
	if err == nil {
		r.Seen, r.TTL = st.Seen, st.TTL
		_, err = m.b.Break(ctx, r)
	}
	switch {
	case errors.Is(err, backend.ErrConflict):
		return &Error{Code: CodeConflict, Lock: name, Detail: "what the store has under this name is no lock that is known here, so it is left alone; whoever has made it has to delete it"}
	case errors.Is(err, backend.ErrNotHeld):
		return &Error{Code: CodeNotOwner, Lock: name, Detail: "nobody holds the lock"}
	case errors.Is(err, backend.ErrFence):
		return fenceMismatch(name)
	case err != nil:
		return &Error{Code: CodeUnavailable, Lock: name, RetryAfter: time.Second, Detail: "the lock may or may not have been broken: " + err.Error()}
	}
	return nil
}

func fenceMismatch(name string) *Error {
	return &Error{
		Code: CodeFenceMismatch, Lock: name, Detail: "the lock is held by another fence now; look again before you break it",
	}
}

// breakTurn ends the present turn, if it is one of this node, and waits for the
// store until ctx is done: the name is not free before.
func (p *place) breakTurn(ctx context.Context, fence backend.Fence) (done bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.advance()
	l := p.cur
	switch {
	case l == nil || !p.has():
		return false, nil
	case l.fence != fence && l.mode != backend.Exclusive:
		return false, nil // another holder's, perhaps
	case l.fence != fence:
		return true, fenceMismatch(p.key.name)
	}
	confirmed := p.seize(reasonBroken)
	if confirmed == nil {
		return true, nil
	}
	p.mu.Unlock()
	defer p.mu.Lock()
	ctx, cancel := context.WithTimeout(ctx, p.m.cfg.Timeout)
	defer cancel()
	select {
	case <-confirmed:
		return true, nil
	case <-ctx.Done():
		return true, &Error{
			Code: CodeUnavailable, Lock: p.key.name, RetryAfter: time.Second,
			Detail: "the holder has lost the lock, but the store has not confirmed that it is free",
		}
	}
}

// seize ends the present turn by a loss. The channel, if any, is closed when the
// store has confirmed that the name is free.
func (p *place) seize(reason string) <-chan struct{} {
	p.lose(reason)
	q := p.req
	p.advance()
	if q == nil {
		return nil
	}
	return q.done
}

// revoke is giveUp by force: what l had is lost.
func (p *place) revoke(l *Lease, reason string) (<-chan struct{}, *Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.m.cfg.Clock()
	p.advanceAt(now)
	if err := l.errLocked(now); err != nil {
		return nil, err
	}
	return p.seize(reason), nil
}

// EndSession ends the session with that ID by force, whatever it lives by: its waits
// end with CodeSessionEnded, and its holds are lost, reason "session_ended", so that
// a client that is still there is told. Nobody gets their names for Config.Delay. by
// is as for Break. CodeNoSession, when this node has no such session.
func (m *Manager) EndSession(ctx context.Context, id, by string) (Ended, error) {
	log := m.cfg.Log.With("audit", "end_session", "session", id, "by", by)
	s := m.index.find(id)
	if s == nil || s.Err() != nil {
		err := &Error{Code: CodeNoSession, Detail: fmt.Sprintf("this gateway has no session %s; it may have ended", Quote(id))}
		log.Warn("a session was not ended", "err", err)
		return Ended{}, err
	}
	e := s.end(ctx, "ended by an administrator", revoke)
	log.Warn("a session was ended", "name", s.o.Name, "pid", s.o.Peer.PID, "uid", s.o.Peer.UID, "locks", e.Released)
	return e, nil
}
