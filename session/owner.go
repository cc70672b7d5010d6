package session

import (
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
	"github.com/lockgw/lockgw/session/engine"
	"github.com/lockgw/lockgw/session/journal"
)

// owner is what the engine tells of what becomes of the callers. Its methods are called
// with the name locked.
type owner struct{ m *Manager }

var _ engine.Owner = owner{}

// Journal implements engine.Owner.
func (o owner) Journal(name string, es []contender.Entry) {
	j := o.m.cfg.Journal
	for _, e := range es {
		switch e.Kind {
		case contender.Intent:
			o.m.wants(name)
		case contender.Clear:
			o.m.putAside(name)
		case contender.LetIn:
			leaseOf(e.Caller).told(e)
		case contender.Released, contender.End:
			leaseOf(e.Caller).ended(e)
		case contender.Deadline:
			j.Deadline(leaseOf(e.Caller).key(), e.Deadline)
		case contender.Lease:
			l := leaseOf(e.Caller)
			l.comeOut(e.Hold, e.Deadline)
			j.Told(l.key(), l.turn(e.Hold, e.Deadline), nil)
		}
	}
}

// told: l is held from here on, and its caller is about to hear of it.
func (l *Lease) told(e contender.Entry) {
	l.known = l.c.Entries
	l.count()
	l.m.cfg.Journal.Told(l.key(), l.turn(e.Hold, e.Deadline), l.answered())
	l.m.event(EventAcquired, l, "")
	l.record(Step{Kind: StepGranted, Ahead: l.c.Ahead})
}

// ended: l was given back, or the end of its min_hold has come. Of what is lost the
// journal is told by lost, which comes next.
func (l *Lease) ended(e contender.Entry) {
	if e.Kind == contender.End {
		l.countNoMore()
	}
	l.mu.Lock()
	end := l.ending
	l.mu.Unlock()
	j := l.m.cfg.Journal
	switch {
	case e.Kind == contender.End && l.c.Kept:
		j.Free(l.key())
	case e.Reason != 0 || end == nil:
		return
	case e.Kind == contender.Released:
		j.Kept(l.key(), l.s.id, string(l.c.Owner), end.answer.released(l, 0))
		l.finish(EventReleased, end.reason)
		return
	default:
		j.Released(l.key(), l.s.id, end.answer.givenBack(l, e.Deadline))
		l.finish(EventReleased, end.reason)
	}
	l.m.forgetSlot(l)
}

// Granted implements engine.Owner.
func (o owner) Granted(c *contender.Caller, path engine.Path) engine.Turn {
	l := leaseOf(c)
	l.mu.Lock()
	l.granted, l.path, l.holder.Since = true, path, time.Now()
	l.mu.Unlock()
	if w := l.parked.Load(); w != nil && w.poked() {
		return w
	}
	return nil
}

// Queued implements engine.Owner.
func (o owner) Queued(c *contender.Caller) {
	l := leaseOf(c)
	l.mu.Lock()
	l.announce = true
	l.mu.Unlock()
	l.signal()
}

// Ended implements engine.Owner.
func (o owner) Ended(c *contender.Caller, r contender.Reason) {
	l := leaseOf(c)
	switch r {
	case contender.Held, contender.Conflict, contender.Full, contender.Refused, contender.Failed:
		l.mu.Lock()
		l.refused = r
		l.mu.Unlock()
		l.signal()
	default:
		l.lost(lossOf(r))
	}
}

// lost: the hold of l is over, and its caller has not given it back.
func (l *Lease) lost(reason string) {
	l.mu.Lock()
	if l.ending != nil && l.ending.forced {
		reason = l.ending.reason
	}
	l.mu.Unlock()
	l.m.cfg.Journal.Lost(l.key(), l.s.id, l.loss(reason))
	l.finish(EventLost, reason)
	l.m.forgetSlot(l)
}

// finish ends l. The words of a release are made when somebody asks for them.
func (l *Lease) finish(e EventType, reason string) {
	l.mu.Lock()
	if l.over = true; e == EventLost {
		l.err = l.lostError(reason)
	}
	l.mu.Unlock()
	l.m.event(e, l, reason)
	l.observeEnd(e, reason)
	l.recordEnd(e, reason)
	if e == EventLost {
		l.logLoss(reason)
	}
	close(l.done)
	l.s.over(l, e, reason)
}

// Written implements engine.Owner.
func (o owner) Written(c *contender.Caller) {
	l := leaseOf(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	backend.Signal(l.written) // or nobody waits for it
}

// Renewed implements engine.Owner.
func (o owner) Renewed(in []*contender.Caller, r ledger.Renewal, took, left time.Duration, err error) {
	if obs := o.m.cfg.Observer; obs != nil {
		obs.Renewed(Renewed{Name: r.Name, Took: took, Margin: left, TTL: r.TTL, Err: err})
	}
	if err == nil {
		o.m.tellHolders(EventRenewed, in, "")
	}
}

// Jeopardy implements engine.Owner.
func (o owner) Jeopardy(in []*contender.Caller, err error) {
	o.m.tellHolders(EventJeopardy, in, err.Error())
}

func (m *Manager) tellHolders(e EventType, in []*contender.Caller, reason string) {
	for _, w := range in {
		if w.Holds() && !w.Kept {
			m.event(e, leaseOf(w), reason)
		}
	}
}

// Answered implements engine.Owner.
func (o owner) Answered(c *contender.Contender) {
	if o.m.cfg.History == nil || len(c.Waiting()) == 0 {
		return
	}
	for i, h := range c.Record().Holds {
		if h.Node != o.m.store.Node() && !h.Offered {
			leaseOf(c.Waiting()[0]).recordSeen(&c.Record().Holds[i])
			return
		}
	}
}

// wants notes that something may be in the store from now on. A name that is used again
// and again stays in the journal in between: to ask the store for it in vain, should this
// process be killed, costs less than to write twice for each hold.
func (m *Manager) wants(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.journaled[name]; ok {
		delete(m.journaled, name)
		return
	}
	m.cfg.Journal.Wants(journal.Key{Name: name})
}

func (m *Manager) putAside(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.journaled) >= maxJournaled {
		for old := range m.journaled {
			delete(m.journaled, old)
			m.cfg.Journal.Idle(journal.Key{Name: old})
			break
		}
	}
	m.journaled[name] = struct{}{}
}

// noteIdle tells the next process that there is nothing to ask for.
func (m *Manager) noteIdle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.journaled {
		m.cfg.Journal.Idle(journal.Key{Name: name})
	}
	clear(m.journaled)
}

// forgetSlot drops what the journal has of l besides the name itself.
func (m *Manager) forgetSlot(l *Lease) {
	if l.c.Mode != backend.Exclusive {
		m.cfg.Journal.Idle(l.key())
	}
}
