package session

import (
	"context"
	"errors"
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
	_, err := m.b.Break(ctx, backend.Request{Name: name, Turn: fence, Delay: m.cfg.Delay})
	switch {
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
	p.lose(reasonBroken)
	q := p.req
	p.advance()
	if q == nil || q.done == nil {
		return true, nil
	}
	p.mu.Unlock()
	defer p.mu.Lock()
	ctx, cancel := context.WithTimeout(ctx, p.m.cfg.Timeout)
	defer cancel()
	select {
	case <-q.done:
		return true, nil
	case <-ctx.Done():
		return true, &Error{
			Code: CodeUnavailable, Lock: p.key.name, RetryAfter: time.Second,
			Detail: "the holder has lost the lock, but the store has not confirmed that it is free",
		}
	}
}
