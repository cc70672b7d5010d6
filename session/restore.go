package session

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session/contender"
	"github.com/lockgw/lockgw/session/journal"
)

// restore takes up what the process before this one was told to keep. A hold counts
// as held until its deadline, but is in jeopardy until the store has confirmed it;
// whatever else that process may have left in the store is given back.
func (m *Manager) restore(past journal.State) (byID map[string]*Session) {
	byID = map[string]*Session{}
	for _, c := range past.Sessions {
		byID[c.ID] = m.adopt(c)
	}
	names := m.pasts(past, byID)
	m.remind(past.Sessions, byID) // before anything can be lost
	var begins []func(wait bool)
	for name, p := range names {
		n, begin := m.engine.Recover(name, *p)
		for _, w := range p.Callers {
			leaseOf(w).n = n
		}
		begins = append(begins, begin)
	}
	for _, begin := range begins { // the end of one hold may end its session, and all holds of that
		begin(!m.Info().Shared)
	}
	return byID
}

// resumeAll begins what may end a session or a hold that restore has made.
func resumeAll(past journal.State, byID map[string]*Session) {
	told := map[string]time.Duration{} // until when a session relies on what it holds
	for _, rec := range past.Places {
		if t := rec.Turn; t != nil {
			told[t.Session] = max(told[t.Session], t.Deadline)
		}
	}
	for _, c := range past.Sessions {
		byID[c.ID].comeBack(c, told[c.ID])
	}
}

// adopt makes the session of a record, without its holds.
func (m *Manager) adopt(c *journal.Session) *Session {
	s := m.newSession(tokenHash(c.Hash), Options{
		Name: c.Name, Meta: c.Meta, Peer: Peer{PID: c.PeerPID, UID: c.PeerUID, Command: c.Command},
		TTL: c.TTL, Keepalive: c.Keepalive, MaxHold: c.MaxHold, OneLock: c.OneLock, User: c.User, Administers: c.Admin, Account: c.Account, Access: c.Access,
		Conns: c.Conns || c.Life == journal.Connection, Process: Process{PID: c.PID, Started: c.Started},
	})
	s.id, s.uuid, s.key, s.since, s.spent = c.ID, c.UUID, c.Key, c.Since, c.Spent
	for k, l := range c.Losses {
		lost := &Lease{name: k.Name}
		lost.c.Fence = backend.Fence(l.Fence)
		s.keepLost(holdKey{k.Name, k.Thread}, lost.lostError(l.Reason))
	}
	s.shown.Store((*Peer)(c.Shown))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addLocked(s)
	return s
}

// pasts are the names that the journal knows of, with the holds that were told there.
func (m *Manager) pasts(past journal.State, byID map[string]*Session) map[string]*contender.Past {
	all := map[string]*contender.Past{}
	for k, rec := range past.Places {
		p := all[k.Name]
		if p == nil {
			p = &contender.Past{}
			all[k.Name] = p
		}
		p.Given = max(p.Given, backend.Fence(rec.Fence))
		if t := rec.Turn; t != nil {
			p.ID = max(p.ID, backend.Fence(t.Hold)) // of two holds of the node the newer one counts
		}
	}
	for k, rec := range past.Places {
		if t := rec.Turn; t != nil {
			m.resume(all[k.Name], k, t, byID[t.Session], past.Sessions[t.Session])
		}
	}
	return all
}

// resume gives t's hold back to the session s; nil: the name is kept without one.
func (m *Manager) resume(p *contender.Past, k journal.Key, t *journal.Turn, s *Session, c *journal.Session) {
	if backend.Fence(t.Hold) < p.ID {
		m.superseded(k, t, s, c)
		return
	}
	l := newLease(s, m, k.Name, t.Thread)
	l.c.Mode, l.c.TTL, l.c.Fixed, l.c.Kept = backend.Mode(t.Mode), t.TTL, t.Fixed && !t.Kept, t.Kept
	l.c.Fence, l.c.Entries, l.c.MaxHoldAt, l.c.MinHoldAt = backend.Fence(t.Fence), t.Count, t.MaxHoldAt, t.KeepUntil
	l.known = t.Count
	if l.c.Fixed {
		l.c.Until = t.Deadline
	}
	if !t.Since.IsZero() {
		l.c.Since = t.Since.UnixMicro()
	}
	p.Mode, p.Deadline, p.Callers = l.c.Mode, max(p.Deadline, t.Deadline), append(p.Callers, &l.c)
	if t.Kept {
		l.c.Owner, l.over = backend.Owner(t.Owner), true
		l.holder = Holder{Owner: l.c.Owner, Node: m.cfg.Node, Peer: NoPeer(), Note: t.Note, Since: t.Since}
		l.c.About = l.holder.record()
		return
	}
	l.holder = s.holder(t.Thread, t.Note)
	l.c.Owner, l.c.About, l.holder.Since = l.holder.Owner, l.holder.record(), t.Since
	s.keepHold(holdKey{l.name, l.thread}, l)
	l.count()
	l.record(Step{Kind: StepResumed})
}

// superseded: the node has had a later hold of the name than that of t, so t is over.
func (m *Manager) superseded(k journal.Key, t *journal.Turn, s *Session, c *journal.Session) {
	if k.Slot != "" {
		defer m.cfg.Journal.Idle(k) // it is nobody's from then on
	}
	if s == nil {
		m.cfg.Journal.Free(k)
		return
	}
	l := newLease(s, m, k.Name, t.Thread)
	l.c.Fence, l.c.Mode = backend.Fence(t.Fence), backend.Mode(t.Mode)
	m.cfg.Journal.Lost(k, s.id, l.loss(reasonGone))
	if c.Losses == nil {
		c.Losses = map[journal.Owner]journal.Lost{}
	}
	c.Losses[journal.Owner{Name: k.Name, Thread: t.Thread}] = l.loss(reasonGone) // for repeats
	s.keepLost(holdKey{k.Name, t.Thread}, l.lostError(reasonGone))
}

// comeBack has the session live by what it lived by. A connection that does not come
// back leaves its holds until they were told to end: its client may not have noticed.
func (s *Session) comeBack(c *journal.Session, told time.Duration) {
	if c.Life == journal.Process {
		err := errors.New("this gateway cannot watch processes")
		if s.m.cfg.Rebind != nil {
			s.o.Alive, err = s.m.cfg.Rebind(s.o.Process, s.o.Peer)
		}
		if err != nil { // it has ended meanwhile
			s.m.wg.Go(func() { s.closeSoon(err.Error()) })
			return
		}
	}
	s.mu.Lock()
	if c.Life == journal.Connection {
		s.awaitLocked(cmp.Or(c.Back, told))
	}
	switch {
	case s.spent:
		s.retireLocked(repeatGrace, func() { s.closeSoon(releasedReason) })
	case s.o.OneLock && len(s.holds) == 0:
		s.retireLocked(lostGrace, func() { s.retired("it held nothing when the gateway was restarted") })
	}
	s.mu.Unlock()
	s.live()
}

// awaitLocked waits for a connection of a client that was told that it holds until then. What is
// renewed meanwhile is told to nobody, so the next process does not wait for that.
func (s *Session) awaitLocked(told time.Duration) {
	s.m.cfg.Journal.Away(s.id, told)
	s.returns = time.AfterFunc(max(s.m.cfg.Session.Reattach, told-s.m.cfg.Clock()), s.checkReturn)
}

// checkReturn ends a session whose client has not come back.
func (s *Session) checkReturn() {
	s.closeIf(func() bool { return s.conns == 0 }, "its client has not come back after the gateway was restarted")
}

// remind takes up the answers to requests with a key, the oldest first: it is those that are
// forgotten if there are too many of one user.
func (m *Manager) remind(past map[string]*journal.Session, byID map[string]*Session) {
	type answer struct {
		journal.Answer
		s *Session
		c *journal.Session
	}
	var all []answer
	for _, c := range past {
		for _, a := range c.Answers {
			all = append(all, answer{a, byID[c.ID], c})
		}
	}
	slices.SortFunc(all, func(a, b answer) int { return cmp.Or(cmp.Compare(a.Up, b.Up), a.At.Compare(b.At)) })
	now := m.cfg.Clock()
	for _, a := range all {
		if a.Up == 0 { // it may be of this moment, whatever the time of day says
			a.Up = now
			m.cfg.Journal.Answered(a.s.id, a.Answer)
		}
		a.s.remind(a.Answer, a.c.Losses)
	}
}

// remind takes up an answer that an earlier process has given.
func (s *Session) remind(a journal.Answer, lost map[journal.Owner]journal.Lost) {
	r := s.replayLocked(a.Key, a.What, 1)
	r.At, r.told = a.Up, true
	close(r.done)
	switch {
	case a.Code != "":
		r.err = &Error{Code: Code(a.Code), Lock: a.Name, Detail: a.Detail}
	case a.Fence != 0:
		r.v = Grant{Lease: s.formerLease(a, lost), New: a.New}
	default:
		r.v = Released{Count: a.Count, Pending: a.Free != 0, freeAt: a.Free}
	}
	s.m.answers.Add(&r.Answer)
}

// formerLease is the hold that was granted in answer a; it may be over, or one of lost.
func (s *Session) formerLease(a journal.Answer, lost map[journal.Owner]journal.Lost) *Lease {
	if l := s.holds[holdKey{a.Name, a.Thread}]; l != nil && l.c.Fence == backend.Fence(a.Fence) {
		return l
	}
	l := newLease(s, s.m, a.Name, a.Thread)
	l.c.Owner, l.c.Fence, l.over = s.owner(a.Thread), backend.Fence(a.Fence), true
	if loss, ok := lost[journal.Owner{Name: a.Name, Thread: a.Thread}]; ok && loss.Fence == a.Fence {
		a.Lost = loss.Reason
	}
	if a.Lost != "" {
		l.err = l.lostError(a.Lost)
	}
	close(l.done)
	return l
}
