package session

import (
	"errors"
	"strconv"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session/journal"
)

// restore takes up what the process before this one was told to keep. A hold counts
// as held until its deadline, but is in jeopardy until the store has confirmed it;
// whatever else that process may have left in the store is given back.
func (m *Manager) restore(past journal.State) {
	if !m.Info().Shared {
		m.mark = backend.Fence(past.Fence)
	}
	byID := map[string]*Session{}
	for _, c := range past.Sessions {
		byID[c.ID] = m.adopt(c)
	}
	for k, rec := range past.Places {
		if n, err := strconv.ParseUint(k.Slot, 10, 64); err == nil && n > m.slots.Load() {
			m.slots.Store(n)
		}
		m.raise(k.Name, backend.Fence(rec.Fence))
		p := m.place(placeKey{k.Name, k.Slot})
		p.journaled, p.phase = true, reclaiming
		if t := rec.Turn; t != nil {
			p.resume(t, byID[t.Session])
		}
	}
	for _, c := range past.Sessions {
		byID[c.ID].remind(c)
	}
}

// resumeAll begins what may end a session or a hold that restore has made.
func (m *Manager) resumeAll(past journal.State) {
	told := map[string]time.Duration{} // until when a session relies on what it holds
	for k, rec := range past.Places {
		if t := rec.Turn; t != nil {
			told[t.Session] = max(told[t.Session], t.Deadline)
		}
		m.reclaim(k)
	}
	for _, c := range past.Sessions {
		m.mu.Lock()
		s := m.sessions[tokenHash(c.Hash)]
		m.mu.Unlock()
		s.comeBack(c, told[c.ID])
	}
}

// adopt makes the session of a record, without its holds.
func (m *Manager) adopt(c *journal.Session) *Session {
	s := m.newSession(tokenHash(c.Hash), Options{
		Name: c.Name, Meta: c.Meta, Peer: Peer{PID: c.PeerPID, UID: c.PeerUID, Command: c.Command},
		TTL: c.TTL, Keepalive: c.Keepalive, MaxHold: c.MaxHold, OneLock: c.OneLock, User: c.User,
		Conns: c.Conns || c.Life == journal.Connection, Process: Process{PID: c.PID, Started: c.Started},
	})
	s.id, s.uuid, s.since, s.spent = c.ID, c.UUID, c.Since, c.Spent
	for k, l := range c.Losses {
		lost := &Lease{name: k.Name, fence: backend.Fence(l.Fence)}
		s.lost[holdKey{k.Name, k.Thread}] = lost.lostError(l.Reason)
	}
	if p := c.Shown; p != nil {
		s.shown.Store(&Peer{PID: p.PID, UID: p.UID, Command: p.Command})
	}
	m.sessions[s.hash] = s
	m.users[s.o.User]++
	m.index.add(s)
	return s
}

// reclaim asks the store for what the process before had of a name. A store that
// lives in this process, and has to be told of all holds before it grants any, has
// answered when reclaim returns.
func (m *Manager) reclaim(k journal.Key) {
	p := m.place(placeKey{k.Name, k.Slot})
	p.mu.Lock()
	p.carrier = !m.Info().Shared
	p.askForPast()
	q := p.carried
	p.carrier, p.carried = false, nil
	p.advance()
	p.mu.Unlock()
	if q != nil {
		p.carry(q)
	}
}

func (p *place) askForPast() {
	m, k := p.m, p.key
	p.journaled, p.phase = true, reclaiming
	r := backend.Request{TTL: m.cfg.TTL, Turns: p.turns(), Floor: m.floor(k.name), Count: 1}
	if l := p.cur; l != nil {
		r = p.description(l, l.count)
		r.Seq, r.Mode, r.TTL, r.Turns, r.Floor = 0, l.mode, p.hold.ttl, p.turns(), m.floor(k.name)
		if l.fixed {
			r.TTL = max(p.hold.deadline-m.cfg.Clock(), 0) + margin(l.ttl) // no longer than it was at first
		}
	}
	p.ask(reclaim, r)
}

// resume gives t's turn back to the session s, if that is there and the deadline is
// not over. nil is right for a name that is kept without a session.
func (p *place) resume(t *journal.Turn, s *Session) {
	if s == nil && !t.Kept {
		return
	}
	l := &Lease{
		s: s, p: p, name: p.key.name, thread: t.Thread, ttl: t.TTL, fixed: t.Fixed, mode: backend.Mode(t.Mode), phase: granted, acknowledged: true,
		fence: backend.Fence(t.Fence), count: t.Count, maxHoldAt: t.MaxHoldAt, keepUntil: t.KeepUntil,
		done: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	if t.Kept {
		l.phase, l.owner = kept, backend.Owner(t.Owner)
	} else {
		l.owner = s.owner(t.Thread)
		l.holder = s.holder(t.Thread, t.Note)
		l.holder.Since = t.Since
	}
	p.hold = hold{
		fence: backend.Fence(t.Hold), last: l.fence, described: l.fence, ttl: t.TTL, mode: l.mode, owner: l.owner,
		deadline: t.Deadline, failing: true,
	}
	p.cur = l
	if !t.Kept {
		s.holds[holdKey{l.name, l.thread}] = l
		l.record(Step{Kind: StepResumed})
	}
}

func (p *place) takeReclaim(q *request, a backend.Answer) {
	if !a.Granted {
		if l := p.cur; l != nil {
			p.drop(l, reasonGone)
		}
		p.phase, p.hold = idle, hold{}
		if a.Provisional {
			p.watchAt = p.m.cfg.Clock() + a.Wait + slack
		}
		return
	}
	if l := p.cur; l != nil && p.late() {
		p.dropEarly(l, reasonExpired)
	}
	p.phase, p.attempt = holding, q.r.Seq
	if l := p.cur; l == nil || !l.fixed {
		p.prolong(q.sentAt + q.r.TTL - margin(q.r.TTL))
	}
	p.hold.renewAt, p.hold.failing = q.sentAt+third(q.r.TTL), false
	p.hold.block, p.hold.next, p.hold.left, p.hold.more = a.Block, a.Block, a.Turns, 0
	p.tellTurn(EventRenewed, "")
	if a.Others {
		p.othersWait()
		p.hold.left = 0 // or the turns of two blocks would pass before another node's
	}
	if p.hold.lost && p.m.cfg.Delay > 0 {
		p.letGo(p.m.cfg.Delay)
	}
}

// dropEarly is drop before the store has said whether it still has the hold.
func (p *place) dropEarly(l *Lease, reason string) {
	p.hold.lost = l.phase != kept
	p.drop(l, reason)
}

// comeBack has the session live by what it lived by. A connection that does not come
// back leaves its holds until they were told to end: its client may not have noticed.
func (s *Session) comeBack(c *journal.Session, told time.Duration) {
	switch c.Life {
	case journal.Process:
		if s.m.cfg.Rebind == nil {
			s.endedMeanwhile(errors.New("this gateway cannot watch processes"))
			return
		}
		alive, err := s.m.cfg.Rebind(s.o.Process, s.o.Peer)
		if err != nil {
			s.endedMeanwhile(err)
			return
		}
		s.o.Alive = alive
	case journal.Connection:
		s.after(max(s.m.cfg.Session.Reattach, told-s.m.cfg.Clock()), s.checkReturn)
	case journal.Keepalive, journal.MaxHold:
	}
	switch {
	case s.spent:
		s.after(repeatGrace, func() { s.closeSoon(releasedReason) })
	case s.o.OneLock && len(s.Leases()) == 0:
		s.after(lostGrace, func() { s.retired("it held nothing when the gateway was restarted") })
	}
	s.live()
}

func (s *Session) after(d time.Duration, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(d, f)
}

func (s *Session) endedMeanwhile(err error) { s.m.wg.Go(func() { s.closeSoon(err.Error()) }) }

// checkReturn ends a session whose client has not come back.
func (s *Session) checkReturn() {
	s.closeIf(func() bool { return s.conns == 0 }, "its client has not come back after the gateway was restarted")
}

// remind takes up the answers to requests with a key.
func (s *Session) remind(c *journal.Session) {
	for key, a := range c.Answers {
		r := &replay{what: a.What, done: make(chan struct{}), at: s.m.cfg.Clock(), told: true, keep: true}
		close(r.done)
		switch {
		case a.Code != "":
			r.err = &Error{Code: Code(a.Code), Lock: a.Name, Detail: a.Detail}
		case a.Fence != 0:
			r.v = Grant{Lease: s.formerLease(a), New: a.New}
		default:
			r.v = Released{Count: a.Count}
		}
		if s.replays == nil {
			s.replays = replays{}
		}
		s.replays[key] = r
		s.m.answers.add(s, key, r)
	}
}

// formerLease is the hold that was granted in answer a; it may be over.
func (s *Session) formerLease(a journal.Answer) *Lease {
	if l := s.holds[holdKey{a.Name, a.Thread}]; l != nil && l.fence == backend.Fence(a.Fence) {
		return l
	}
	done := make(chan struct{})
	close(done)
	return &Lease{
		s: s, p: &place{m: s.m, key: placeKey{name: a.Name}, gone: true}, name: a.Name, thread: a.Thread,
		owner: s.owner(a.Thread), fence: backend.Fence(a.Fence), phase: over, acknowledged: true, done: done,
	}
}
