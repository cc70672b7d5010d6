package contender

import (
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// refuseTries answers those who do not want to wait, and those who want the name as
// another kind than it is in use as, once the store has said how things are. some: there were any.
func (c *Contender) refuseTries() (some bool) {
	n := c.queue.len()
	if c.queue.noWait == 0 {
		c.recall = recall{}
	}
	if c.recovers || c.leaving || c.unresolved {
		return false
	}
	conflict := c.queue.len() > 0 && c.copy.ConflictsAt(c.cfg.Node, c.queue.head().Mode, c.now)
	if !conflict && c.queue.noWait == 0 {
		return false
	}
	for _, w := range slices.Clone(c.queue.ws) {
		switch {
		case w.NoWait && c.behind(w) && c.KnownLate(w): // since Hurry
			c.refuse(w, Held)
		case !w.seen:
		case conflict:
			c.refuse(w, Conflict)
		case w.NoWait && slices.Index(c.queue.ws, w) < c.welcome():
		case w.NoWait && !c.changes(c.needs()) && !c.recalls():
			c.refuse(w, Held)
		}
	}
	if c.now >= c.recall.until { // who comes later asks anew
		c.recall = recall{}
	}
	return c.queue.len() < n
}

// refuseAll ends the waits of those who have asked and of whom which is true.
func (c *Contender) refuseAll(why Reason, which func(*Caller) bool) {
	for _, w := range slices.Clone(c.queue.ws) {
		if w.asked && which(w) {
			c.refuse(w, why)
			if c.queue.len() == 0 { // what was asked for it is undone at once
				c.retryAt = 0
			}
		}
	}
}

// newest is the newest fence that was given, as far as this node knows: any that there is, where
// somebody outside lockgw has ended a hold whose node may not have told of it.
func (c *Contender) newest() backend.Fence {
	if len(c.deleted) > 0 {
		return max(c.given, c.copy.Top)
	}
	return c.given
}

// needs is what should be done in the store, as things are here.
func (c *Contender) needs() ledger.Op {
	op := ledger.Op{
		Verb: ledger.Sync, Node: c.cfg.Node, Hold: c.hold.id, Keep: len(c.in), Mode: c.hold.mode,
		Turns: c.cfg.Turns, Floor: max(c.top, backend.Fence(max(c.storeTime(), 0))),
		OfferTTL: c.cfg.Offer, Delay: c.cfg.Delay, Strict: c.cfg.Strict, Unheard: c.unheard, Lapse: true,
		Callers: c.tellable(), Waiters: c.queue.len(), Last: c.newest(), At: c.shownTime(),
		Retains: c.cfg.Retain > 0, Stray: c.stray(), Deaf: c.deaf,
	}
	for _, w := range c.in {
		switch {
		case w.Fixed && w.Until != 0: // no longer than it was told
			op.TTL = max(op.TTL, w.Until-c.now+c.cfg.Margin(w.TTL))
		case w.phase != granted: // it knows its deadline, which must not become an earlier one
			op.TTL = max(op.TTL, w.TTL, c.hold.ttl)
		default:
			op.TTL = max(op.TTL, w.TTL)
		}
	}
	if len(c.in) == 0 && c.queue.len() == 0 {
		op.TTL = c.hold.ttl
	}
	switch {
	case c.recovers:
		op.Verb, op.Hold = ledger.Reclaim, c.reclaiming
		op.Restore, op.Floor = c.restores(c.reclaiming), c.top
		if op.Keep == 0 {
			op.Bar = c.bar
		}
		return op
	case c.leaving:
		op.Verb, op.Bar = ledger.Leave, c.bar
		if c.queue.len() > 0 { // who lost the lease stays in line
			c.wants(&op)
		}
		return op
	case c.queue.len() == 0:
		if op.Hold == 0 {
			op.Verb = ledger.Pass
			if c.copy.Has(c.cfg.Node) {
				op.Verb = ledger.Leave
			}
		}
		return op
	}
	h := &c.hold
	if h.mode == backend.Exclusive && op.Keep > 0 {
		op.Extend = c.extends() // while turns go on, so that none need wait for it
		return op
	}
	c.wants(&op)
	op.Extend = c.extends() && (op.Mode.Limit() == 0 || op.Keep < h.count)
	return op
}

// wants asks for the name for those who wait.
func (c *Contender) wants(op *ledger.Op) {
	head := c.queue.head()
	op.Mode, op.Want, op.TTL = head.Mode, 1, max(op.TTL, head.TTL)
	if n := head.Mode.Limit(); n > 0 {
		op.Want = min(c.queue.len(), n)
	}
	if c.cfg.Strict {
		op.Since, op.Then = head.came, c.queue.apart()
		op.Want = 1
	}
	op.Try = c.queue.noWait == c.queue.len() && !c.recall.unused
}

// stray is how many permits the record has under our hold that we were not granted: a write
// without an answer has got them, or the store has an older record again.
func (c *Contender) stray() int {
	if h := &c.hold; h.mode.Limit() > 0 {
		if mine := c.copy.Firm(c.cfg.Node); mine != nil && mine.ID == h.id {
			return max(mine.Count-h.count, 0)
		}
	}
	return 0
}

// short: more permits are used here than the record, which is an older one again, has for us.
func (c *Contender) short() bool {
	h := &c.hold
	if h.mode.Limit() == 0 {
		return false
	}
	mine := c.copy.Firm(c.cfg.Node)
	return mine != nil && mine.ID == h.id && mine.Count < len(c.in)
}

// extends: those who wait here are more than the block of fences has room for.
func (c *Contender) extends() bool {
	h := &c.hold
	return !h.others && h.used > c.cfg.Turns/2 && c.queue.len() > c.cfg.Turns-h.used && c.queue.head().Mode == h.mode
}

// tellable is what other nodes are told of who is in.
func (c *Contender) tellable() []ledger.Caller {
	var out []ledger.Caller
	for _, w := range c.in[:min(len(c.in), backend.MaxSeveral)] {
		out = append(out, ledger.Caller{Owner: w.Owner, Entries: w.Entries, Fence: w.Fence, Since: w.Since, About: w.About})
	}
	if len(out) == 0 && c.queue.len() > 0 { // who will be next
		w := c.queue.head()
		out = append(out, ledger.Caller{Owner: w.Owner, Entries: 1, Since: c.shownTime(), About: w.About})
	}
	return out
}

// due is what has to be sent, if anything.
func (c *Contender) due() (op ledger.Op, ok bool) {
	asks := c.asks()
	if !asks && c.undisturbed() && !c.extends() {
		return ledger.Op{}, false
	}
	op = c.needs()
	return op, asks || op.Extend || c.changes(op)
}

// asks: the store is to be asked, whatever there is to write.
func (c *Contender) asks() bool {
	h := &c.hold
	switch {
	case c.recovers, c.leaving, c.unresolved, c.look, c.describe && len(c.in) > 0, c.short(), h.behind:
		return true
	case c.alien() && c.now >= c.alienAt():
		return true
	case c.unseen():
		return true
	case slices.ContainsFunc(c.in, func(w *Caller) bool { return w.settle }):
		return true
	default: // told by a message alone that others wait: have a look
		return h.id != 0 && h.others && !c.copy.OthersWait(c.cfg.Node) && c.comers() == 0 &&
			(len(c.in) == 0 || h.mode.Limit() > 0 && len(c.in) < h.count || c.queue.len() > 0)
	}
}

// undisturbed: one caller here has the name alone, and the record says nothing else. Then
// there is nothing to write but the next block of fences.
func (c *Contender) undisturbed() bool {
	if c.hold.mode != backend.Exclusive || len(c.in) == 0 || c.copy.Size != 0 || len(c.copy.Holds) != 1 || len(c.copy.Queue) > 0 {
		return false
	}
	mine := &c.copy.Holds[0]
	return mine.ID == c.hold.id && !mine.Offered && len(mine.Breaks) == 0
}

// unseen: one who may be refused has to have an answer that is not older than its
// question.
func (c *Contender) unseen() bool {
	q := &c.queue
	if q.unasked == 0 || c.hold.id != 0 && c.hold.mode == backend.Exclusive {
		return false
	}
	return len(c.in) == 0 && c.copy.ConflictsAt(c.cfg.Node, q.head().Mode, c.now) ||
		q.noWait > 0 && slices.ContainsFunc(q.ws, func(w *Caller) bool { return w.NoWait && !w.asked })
}

// changes: op would make another record of the copy. What others have and is over is
// a reason to write only for who wants something, or who watches.
func (c *Contender) changes(op ledger.Op) bool {
	op.Lapse = op.Want > 0 || op.Verb == ledger.Pass && c.watch
	if op.Verb == ledger.Pass && !c.watch {
		return false
	}
	next, _ := ledger.Step(c.copy, op, c.now)
	return !next.Same(&c.copy)
}

// send sends what op needs: a swap, a join, or, if there is nothing to write, a look.
func (c *Contender) send(op ledger.Op) {
	absolute := op.Restore && op.Keep > 0
	if c.version == "" && !absolute { // fences of a new record are counted from the store's clock
		op.Floor = 0
	}
	next, effects := ledger.Step(c.copy, op, c.now)
	settling := slices.ContainsFunc(c.in, func(w *Caller) bool { return w.settle })
	forced := c.unresolved || c.recovers || c.describe || settling || c.short() || c.hold.behind
	q := &Request{SentAt: c.now, Floor: c.top, verb: op.Verb, ttl: op.TTL, base: c.version, describe: c.describe, had: c.hold.count, until: c.hold.deadline}
	c.look = false
	c.queue.sent()
	switch {
	case next.Same(&c.copy) && !forced:
	case !forced && !op.Strict && c.joins(&next):
		q.Join = next.Entry(c.cfg.Node)
	default:
		q.Swap = &ledger.Swap{Base: c.version, Record: next, Effects: effects, Floor: c.top, Absolute: absolute}
		q.bar = op.Bar > 0
		c.shortens(op.TTL)
		c.describes()
		c.giveBack(&next, op.TTL)
	}
	if (q.Swap != nil || q.Join != nil) && !c.intent {
		c.intent = true
		c.journal(Intent, nil)
	}
	c.flight = q
	c.out.Send = q
}

// describes: the write that is sent tells of the callers as they are now.
func (c *Contender) describes() {
	c.describe = false
	for _, w := range c.in {
		w.sent = w.Entries
	}
}

// joins: all that the write would do is to put this node at the end of the queue.
func (c *Contender) joins(next *ledger.Record) bool {
	n := len(c.copy.Queue)
	if len(next.Queue) != n+1 || next.Queue[n].Node != c.cfg.Node {
		return false
	}
	rest := next.Clone()
	rest.Queue = rest.Queue[:n]
	return rest.Same(&c.copy)
}

// giveBack: from the sending on, a lease that it makes shorter counts as short, and what next does
// not have any more as given back.
func (c *Contender) giveBack(next *ledger.Record, ttl time.Duration) {
	h := &c.hold
	h.deadline = min(h.deadline, c.now+ttl-c.cfg.Margin(ttl))
	if h.id == 0 || c.recovers {
		return
	}
	mine := next.Firm(c.cfg.Node)
	if mine == nil || mine.ID != h.id {
		h.giving = true
		return
	}
	h.count = min(h.count, mine.Count)
	if c.copy.OthersWait(c.cfg.Node) { // what nobody here uses is given back, and may be granted anew by the same write
		h.count = min(h.count, len(c.in))
	}
}
