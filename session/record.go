package session

import (
	"errors"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session/journal"
)

// entry of the session in the journal.
func (s *Session) entry() journal.Session {
	o := s.o
	return journal.Session{
		ID: s.id, UUID: s.uuid, Hash: s.hash[:], Key: s.key, Since: s.since, Name: o.Name, Meta: o.Meta,
		PeerPID: o.Peer.PID, PeerUID: o.Peer.UID, Command: o.Peer.Command,
		TTL: o.TTL, Keepalive: o.Keepalive, MaxHold: o.MaxHold, OneLock: o.OneLock, Conns: o.Conns,
		Life: s.life(), PID: o.Process.PID, Started: o.Process.Started, Shown: (*journal.Peer)(s.shown.Load()), User: o.User, Admin: o.Administers,
		Account: o.Account, Access: o.Access,
	}
}

// key of l in the journal: who has the name alone needs none of its own.
func (l *Lease) key() journal.Key {
	if l.c.Mode == backend.Exclusive {
		return journal.Key{Name: l.name}
	}
	return journal.Together(l.name, uint64(l.c.Fence))
}

// turn is l in the journal. A change of its entries that is under way is not in there: should the
// process end before somebody is told of that, the client repeats it.
func (l *Lease) turn(hold backend.Fence, deadline time.Duration) journal.Turn {
	h := l.holderNow()
	return journal.Turn{
		Session: l.s.id, Thread: l.thread, Hold: uint64(hold), Fence: uint64(l.c.Fence), Count: l.known,
		TTL: l.c.TTL, Fixed: l.c.Fixed, Mode: int(l.c.Mode), MaxHoldAt: l.c.MaxHoldAt, KeepUntil: l.c.MinHoldAt, Deadline: deadline,
		Note: h.Note, Since: h.Since,
	}
}

func (l *Lease) loss(reason string) journal.Lost {
	return journal.Lost{Name: l.name, Thread: l.thread, Fence: uint64(l.c.Fence), Reason: reason}
}

// answered is the answer that tells l's grant, if it has to be remembered.
func (l *Lease) answered() *journal.Answer {
	a := l.repeat.granted(l)
	if a != nil {
		a.New = true
	}
	return a
}

func (r *receipt) answer(now time.Duration) journal.Answer {
	return journal.Answer{Key: r.key, What: r.what, At: time.Now(), Up: now}
}

func (r *receipt) granted(l *Lease) *journal.Answer {
	if r == nil {
		return nil
	}
	a := r.answer(l.m.cfg.Clock())
	a.Name, a.Thread, a.Fence = l.name, l.thread, uint64(l.c.Fence)
	return &a
}

func (r *receipt) released(l *Lease, left int) *journal.Answer {
	switch {
	case r == nil:
		return nil
	case r.undoes:
		return &journal.Answer{Key: r.key, Undone: true}
	}
	a := r.answer(l.m.cfg.Clock())
	a.Name, a.Thread, a.Count = l.name, l.thread, left
	return &a
}

// givenBack is released of the last entry, whose lease ends then in the store at the latest.
func (r *receipt) givenBack(l *Lease, end time.Duration) *journal.Answer {
	a := r.released(l, 0)
	if a != nil && !a.Undone {
		a.Free = end
	}
	return a
}

func (r *receipt) refused(err error, now time.Duration) journal.Answer {
	a := r.answer(now)
	a.Code, a.Detail = string(CodeOf(err)), err.Error()
	var e *Error
	if errors.As(err, &e) {
		a.Name, a.Detail = e.Lock, e.Detail
	}
	return a
}
