package contender

import (
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Tick is called when the timer is due.
func (c *Contender) Tick(now time.Duration) Effects {
	c.now = now
	return c.advance()
}

// Message takes a message from another node, with the record that it brought, if any. A
// message is a hint: the record spares a look, but resolves and grants nothing.
func (c *Contender) Message(now time.Duration, k ledger.Kind, r *ledger.Reply) Effects {
	c.now = now
	switch k {
	case ledger.Look:
		c.look = true
	case ledger.Waits:
		c.nudged = c.flight != nil // whose answer may be a grant, and older than this
		if c.hold.id != 0 {
			c.othersWait()
		}
		c.look = c.look || c.cameBack(r)
	case ledger.Broken:
		c.look, c.hold.broken = true, c.hold.id != 0
	}
	if r != nil && c.believes(r) {
		c.take(*r)
	}
	return c.advance()
}

// cameBack: the store says that we hold what we do not know of, and others wait for that lease
// to end. It has forgotten in a crash that we gave it back, which a store may have written
// without waiting for its disk. A message without a record may be older than that: we look.
func (c *Contender) cameBack(r *ledger.Reply) bool {
	return c.hold.id == 0 && c.flight == nil && (r == nil || r.Clock >= c.clock && r.Record.Firm(c.cfg.Node) != nil)
}

// believes: the record that a message has brought may be the copy. It is not older, as far as
// the clock of the store tells, and says of what we hold what the copy says: what became of
// that only an answer tells. So who hears that another waits gives the name to that one by
// its next write, without losing one before.
func (c *Contender) believes(r *ledger.Reply) bool {
	return c.flight == nil && !c.unresolved && !c.recovers && !c.leaving && r.Clock >= c.clock &&
		r.Record.Firm(c.cfg.Node).Same(c.copy.Firm(c.cfg.Node))
}

// Deaf is called again and again while no messages arrive: what they would tell is looked at. Those
// who let go are told in the record that nobody has to hear of an offer to this node.
func (c *Contender) Deaf(now time.Duration) Effects {
	c.now = now
	c.deaf = true
	c.look = c.look || c.flight == nil && c.Listens()
	return c.advance()
}

// Listens: a message may tell what matters here. One caller who has the name alone gives it back by
// a write in any case, and sees by that who waits.
func (c *Contender) Listens() bool {
	return c.queue.len() > 0 || c.hold.id != 0 && (c.hold.mode != backend.Exclusive || c.cfg.Retain > 0)
}

// Resync: messages may have been missed, and arrive again.
func (c *Contender) Resync(now time.Duration) Effects {
	c.now = now
	c.deaf = false
	c.look = c.look || c.queue.len() > 0 || c.hold.id != 0
	return c.advance()
}

// othersWait notes that another node waits, and that only those may come in before it is
// served who could come in now.
func (c *Contender) othersWait() {
	if !c.hold.others {
		c.hold.allow = c.fitting()
	}
	if c.hold.since == 0 {
		c.hold.since = c.now
	}
	c.hold.others = true
}

// take makes r the copy.
func (c *Contender) take(r ledger.Reply) {
	c.copy, c.version, c.deleted = r.Record.Clone(), r.Version, r.Deleted
	c.copy.Shift(c.now)
	if c.clock == 0 && r.Clock != 0 { // who waits came by our own time so far
		for _, w := range c.queue.ws {
			w.came += r.Clock - c.storeTime()
		}
	}
	c.clock, c.read = r.Clock, c.now
	c.top = max(c.top, r.Record.Top)
}

// storeTime is about what the clock of the store says, in microseconds.
func (c *Contender) storeTime() int64 {
	return c.clock + (c.now - c.read).Microseconds()
}

// shownTime is storeTime for people; 0: the store has not said it yet.
func (c *Contender) shownTime() int64 {
	if c.clock == 0 {
		return 0
	}
	return c.storeTime()
}

// advance does all that can be done now.
func (c *Contender) advance() Effects {
	c.expire()
	c.admit()
	c.act()
	c.renew()
	c.tellQueued()
	out := c.out
	out.Timer = c.timer()
	c.out = Effects{}
	return out
}

// act sends what is due.
func (c *Contender) act() {
	if c.flight != nil {
		return
	}
	if h := &c.hold; h.id != 0 && len(c.in) == 0 && (c.now >= h.deadline || c.bar > 0) { // lost: what is left of it goes
		c.forget()
	}
	c.left()
	for c.refuseTries() { // who stood behind them may come in
		c.admit()
	}
	if c.hold.id != 0 && !c.hold.giving && !c.recovers && len(c.in) == 0 && c.queue.len() == 0 && !c.retains() {
		c.forget()
	}
	if c.now < c.retryAt {
		return
	}
	if op, due := c.due(); due {
		c.send(op)
	} else if c.intent && c.Quiet() {
		c.intent = false
		c.journal(Clear, nil)
	}
}

// left: what we had is not in the store any more.
func (c *Contender) left() {
	if !c.leaving || c.unresolved || c.bar > 0 {
		return
	}
	if c.queue.len() > 0 { // our place in line is theirs
		c.leaving = c.copy.Firm(c.cfg.Node) != nil
	} else {
		c.leaving = c.copy.Has(c.cfg.Node)
	}
}

// forget lets go of the hold.
func (c *Contender) forget() {
	c.hold, c.leaving, c.describe = hold{}, true, false
}

// retains: the hold is kept although nobody here uses it.
func (c *Contender) retains() bool {
	h := &c.hold
	return c.cfg.Retain > 0 && !h.others && !h.behind && c.now < h.idle+c.cfg.Retain && h.deadline-c.now > h.ttl/3
}
