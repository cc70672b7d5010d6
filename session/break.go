package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session/contender"
	"github.com/lockgw/lockgw/session/engine"
)

// Break ends the hold of name by force, whoever has it, if fence and owner are those that
// Inspect tells; owner "" is not compared. Its holder is told that it is lost, reason "broken"; nobody gets
// the name for Config.Delay. by says who asks for it, for the audit record in the log;
// whether they may is the caller's business. CodeInvalid; CodeFenceMismatch, also when nobody
// holds it; CodeDraining where the hold is left to the next process; CodeUnavailable.
func (m *Manager) Break(ctx context.Context, name string, fence backend.Fence, owner backend.Owner, by string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	err := m.breakHold(ctx, name, fence, owner)
	log := m.cfg.Log.With("audit", "break", "lock", name, "fence", uint64(fence), "by", by)
	if err != nil {
		log.Warn("a lock was not broken", "err", err)
		return err
	}
	log.Warn("a lock was broken")
	return nil
}

func (m *Manager) breakHold(ctx context.Context, name string, fence backend.Fence, owner backend.Owner) error {
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	switch l, ours := m.ourHold(name, fence); {
	case l != nil && owner != "" && l.c.Owner != owner:
		return mismatch(name, otherOwner)
	case l != nil:
		return l.breakNow(ctx)
	case ours:
		return mismatch(name, otherFence)
	}
	is := func(a *engine.Answer) error { // holders outside lockgw, one after the other, have the same fence
		if owner == "" {
			return nil
		}
		if st := m.statusOf(name, a); st.Holder != nil && st.ownerOf(fence) != owner {
			return mismatch(name, otherOwner)
		}
		return nil
	}
	switch err := m.engine.Break(ctx, name, fence, is, m.cfg.Delay); {
	case CodeOf(err) == CodeFenceMismatch:
		return err
	case errors.Is(err, backend.ErrConflict):
		return &Error{Code: CodeConflict, Lock: name, Detail: "what the store has under this name is no lock that is known here, so it is left alone; whoever has made it has to delete it"}
	case errors.Is(err, backend.ErrNotHeld):
		return mismatch(name, freeNow)
	case errors.Is(err, backend.ErrFence) && m.IsDraining(): // it may be that of a hold that is left to the next process
		return m.drainingError(name)
	case errors.Is(err, backend.ErrFence):
		return mismatch(name, otherFence)
	case err != nil:
		return &Error{Code: CodeUnavailable, Lock: name, RetryAfter: retryAfter(err), Detail: "the lock may or may not have been broken: " + err.Error()}
	}
	return nil
}

// Why a hold that was seen is not there to be broken.
const (
	otherFence = "the lock is held by another fence now; look again before you break it"
	otherOwner = "another than the owner that was seen holds the lock now; look again before you break it"
	freeNow    = "nobody holds the lock now, with this fence or another: the name is free, and there is nothing to break"
)

func mismatch(name, why string) *Error {
	return &Error{Code: CodeFenceMismatch, Lock: name, Detail: why}
}

// ownerOf is who has the hold with that fence.
func (s *Status) ownerOf(fence backend.Fence) backend.Owner {
	for _, h := range s.Shares {
		if h.Fence == fence {
			return h.Owner
		}
	}
	return s.Holder.Owner
}

// ourHold finds the hold with that fence among those of this node. ours: a caller of this
// node has the name alone, with whatever fence.
func (m *Manager) ourHold(name string, fence backend.Fence) (l *Lease, ours bool) {
	m.engine.Find(name).See(func(c *contender.Contender, now time.Duration) {
		for _, w := range c.In() {
			if !w.Holds() || now >= c.Deadline(w) {
				continue
			}
			ours = ours || w.Mode == backend.Exclusive
			if w.Fence == fence {
				l = leaseOf(w)
			}
		}
	})
	return l, ours
}

// breakNow ends l by force, and waits for the store until ctx is done: the name is not
// free before.
func (l *Lease) breakNow(ctx context.Context) error {
	errand, err := l.lose(LossBroken, true)
	switch {
	case err != nil && err.Code == CodeDraining:
		return err
	case err != nil: // released meanwhile
		return mismatch(l.name, freeNow)
	}
	if l.settle(context.Background(), ctx.Done(), errand) {
		return nil
	}
	return &Error{
		Code: CodeUnavailable, Lock: l.name, RetryAfter: time.Second,
		Detail: "the holder has lost the lock, but the store has not confirmed that it is free",
	}
}

// revoke is end by force: what l had is lost.
func (l *Lease) revoke(reason string) (*engine.Errand, *Error) { return l.lose(reason, false) }

// lose is revoke. kept: likewise where l was released and its name is only kept for its min_hold, of
// which nobody has to be told.
func (l *Lease) lose(reason string, kept bool) (*engine.Errand, *Error) {
	there, no := false, (*Error)(nil)
	errand := l.n.LoseIf(&l.c, contender.ByForce, func(c *contender.Contender, now time.Duration) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		there = true
		if kept && l.c.Kept && l.c.Holds() {
			return true
		}
		if no = l.whyOverLocked(); no == nil {
			no = l.overdue(c, now)
		}
		if no == nil {
			l.ending = &ending{reason: reason, forced: true}
		}
		return no == nil
	})
	if !there {
		no = l.whyGone()
	}
	if no != nil {
		errand.Launch()
		return nil, no
	}
	return errand, nil
}

// EndSession ends the session with that ID by force, whatever it lives by: its waits
// end with CodeSessionEnded, and its holds are lost, reason "session_ended", so that
// a client that is still there is told. Nobody gets their names for Config.Delay. by
// is as for Break. CodeNoSession, when this node has no such session.
func (m *Manager) EndSession(ctx context.Context, id, by string) (Ended, error) {
	log := m.cfg.Log.With("audit", "end_session", "session", id, "by", by)
	var e Ended
	s, ended := m.index.find(id), false
	if s != nil {
		e, ended = s.end(ctx, "ended by an administrator", revoke)
	}
	if !ended {
		err := &Error{Code: CodeNoSession, Detail: fmt.Sprintf("this gateway has no session %s; it may have ended", Quote(id))}
		log.Warn("a session was not ended", "err", err)
		return Ended{}, err
	}
	log.Warn("a session was ended", "name", s.o.Name, "pid", s.o.Peer.PID, "uid", s.o.Peer.UID, "locks", e.Released)
	return e, nil
}
