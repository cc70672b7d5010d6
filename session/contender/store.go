package contender

import (
	"errors"
	"slices"
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
			c.othersWait(c.fitting())
		}
	case ledger.Broken:
		c.look, c.hold.broken = true, c.hold.id != 0
	}
	if r != nil && c.flight == nil && !c.unresolved && c.hold.id == 0 && !c.recovers {
		c.take(*r)
	}
	return c.advance()
}

// Resync: messages may have been missed.
func (c *Contender) Resync(now time.Duration) Effects {
	c.now = now
	c.look = c.look || c.queue.len() > 0 || c.hold.id != 0
	return c.advance()
}

// othersWait notes that another node waits, and that n more may come in before it is
// served.
func (c *Contender) othersWait(n int) {
	if !c.hold.others {
		c.hold.allow = n
	}
	if c.hold.since == 0 {
		c.hold.since = c.now
	}
	c.hold.others = true
}

// take makes r the copy.
func (c *Contender) take(r ledger.Reply) {
	c.copy, c.version = r.Record.Clone(), r.Version
	c.copy.Shift(c.now)
	c.clock, c.read = r.Clock, c.now
	c.top = max(c.top, r.Record.Top)
}

// storeTime is about what the clock of the store says, in microseconds.
func (c *Contender) storeTime() int64 {
	return c.clock + (c.now - c.read).Microseconds()
}

// advance does all that can be done now.
func (c *Contender) advance() Effects {
	c.expire()
	c.admit()
	c.act()
	c.renew()
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
	c.refuseTries()
	if c.hold.id != 0 && !c.hold.giving && !c.recovers && len(c.in) == 0 && c.queue.len() == 0 && !c.retains() {
		c.forget()
	}
	if c.leaving && !c.unresolved && c.bar == 0 && !c.copy.Has(c.cfg.Node) {
		c.leaving = false
	}
	if c.now < c.retryAt {
		return
	}
	if c.due() {
		c.send()
	} else if c.intent && c.Quiet() && !c.copy.Has(c.cfg.Node) {
		c.intent = false
		c.journal(Clear, nil)
	}
}

// forget lets go of the hold.
func (c *Contender) forget() {
	c.hold, c.leaving, c.describe = hold{}, true, false
}

// retains: the hold is kept although nobody here uses it.
func (c *Contender) retains() bool {
	h := &c.hold
	return c.cfg.Retain > 0 && !h.others && c.now < h.idle+c.cfg.Retain && h.deadline-c.now > h.ttl/3
}

// refuseTries answers those who do not want to wait, and those who want the name as
// another kind than it is in use as, once the store has said how things are.
func (c *Contender) refuseTries() {
	if c.recovers || c.leaving || c.unresolved {
		return
	}
	conflict := c.queue.len() > 0 && c.copy.Conflicts(c.cfg.Node, c.queue.head().Mode)
	if !conflict && c.queue.noWait == 0 {
		return
	}
	for _, w := range slices.Clone(c.queue.ws) {
		switch {
		case !w.seen:
		case conflict:
			c.queue.remove(w)
			w.phase = over
			c.out.Ended = append(c.out.Ended, Ended{w, Conflict})
		case w.NoWait && !c.changes(c.needs()):
			c.queue.remove(w)
			w.phase = over
			c.out.Ended = append(c.out.Ended, Ended{w, Held})
		}
	}
}

// needs is what should be done in the store, as things are here.
func (c *Contender) needs() ledger.Op {
	op := ledger.Op{
		Verb: ledger.Sync, Node: c.cfg.Node, Hold: c.hold.id, Keep: len(c.in), Mode: c.hold.mode,
		Turns: c.cfg.Turns, Floor: max(c.top, backend.Fence(max(c.storeTime(), 0))),
		OfferTTL: c.cfg.Offer, Strict: c.cfg.Strict, Unheard: c.unheard, Lapse: true,
		Callers: c.tellable(), Waiters: c.queue.len(),
	}
	for _, w := range c.in {
		op.TTL = max(op.TTL, w.TTL)
		if w.phase != granted { // it knows its deadline, which must not become an earlier one
			op.TTL = max(op.TTL, c.hold.ttl)
		}
	}
	if len(c.in) == 0 && c.queue.len() == 0 {
		op.TTL = c.hold.ttl
	}
	switch {
	case c.recovers:
		op.Verb, op.Hold = ledger.Reclaim, c.reclaiming
		op.Restore, op.Floor = c.cfg.Restores, c.top
		return op
	case c.leaving:
		op.Verb, op.Bar = ledger.Leave, c.bar
		return op
	case c.queue.len() == 0:
		if op.Keep == 0 && op.Hold == 0 {
			op.Verb = ledger.Pass
			if c.copy.Has(c.cfg.Node) {
				op.Verb = ledger.Leave
			}
		}
		return op
	}
	head := c.queue.head()
	h := &c.hold
	block := h.id != 0 && h.mode == head.Mode && !h.others && h.used >= c.cfg.Turns
	if h.id != 0 && h.mode == backend.Exclusive && op.Keep > 0 {
		op.Extend = block // in the last turn, so that the next one need not wait
		return op
	}
	op.Mode, op.Want, op.TTL = head.Mode, 1, max(op.TTL, head.TTL)
	if n := head.Mode.Limit(); n > 0 {
		op.Want = min(c.queue.len(), n)
	}
	if c.cfg.Strict {
		op.Since = head.came
		op.Want = 1
	}
	op.Try = c.queue.noWait == c.queue.len()
	op.Extend = block && (head.Mode.Limit() == 0 || op.Keep < h.count)
	return op
}

// tellable is what other nodes are told of who is in.
func (c *Contender) tellable() []ledger.Caller {
	var out []ledger.Caller
	for _, w := range c.in[:min(len(c.in), backend.MaxSeveral)] {
		out = append(out, ledger.Caller{Owner: w.Owner, Entries: w.Entries, Fence: w.Fence, About: w.About})
	}
	if len(out) == 0 && c.queue.len() > 0 { // who will be next
		w := c.queue.head()
		out = append(out, ledger.Caller{Owner: w.Owner, Entries: 1, About: w.About})
	}
	return out
}

// due: something has to be sent.
func (c *Contender) due() bool {
	h := &c.hold
	switch {
	case c.recovers, c.leaving, c.unresolved, c.look, c.describe && len(c.in) > 0:
		return true
	case c.queue.len() > 0 && c.unseen():
		return true
	case slices.ContainsFunc(c.in, func(w *Caller) bool { return w.settle }):
		return true
	case h.id != 0 && h.others && !c.copy.OthersWait(c.cfg.Node) && c.comers() == 0 &&
		(len(c.in) == 0 || h.mode.Limit() > 0 && len(c.in) < h.count || c.queue.len() > 0):
		return true // told of it by a message alone: have a look
	}
	op := c.needs()
	return op.Extend || c.changes(op)
}

// unseen: one who may be refused has to have an answer that is not older than its
// question.
func (c *Contender) unseen() bool {
	q := &c.queue
	if c.hold.id != 0 || q.unasked == 0 {
		return false
	}
	return c.copy.Conflicts(c.cfg.Node, q.head().Mode) ||
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

// send sends what is needed: a swap, a join, or, if there is nothing to write, a look.
func (c *Contender) send() {
	op := c.needs()
	absolute := op.Restore && op.Keep > 0
	if c.version == "" && !absolute { // fences of a new record are counted from the store's clock
		op.Floor = 0
	}
	next, effects := ledger.Step(c.copy, op, c.now)
	settling := slices.ContainsFunc(c.in, func(w *Caller) bool { return w.settle })
	forced := c.unresolved || c.recovers || c.describe || settling || op.Bar > 0
	q := &Request{SentAt: c.now, Floor: c.top, verb: op.Verb, ttl: op.TTL, base: c.version, describe: c.describe}
	c.look = false
	c.queue.sent()
	switch {
	case next.Same(&c.copy) && !forced:
	case !forced && !op.Strict && c.joins(op, &next):
		q.Join = next.Entry(c.cfg.Node)
	default:
		q.Swap = &ledger.Swap{Base: c.version, Record: next, Effects: effects, Floor: c.top, Absolute: absolute}
		q.bar = op.Bar > 0
		c.giveBack(&next, op.TTL)
	}
	if (q.Swap != nil || q.Join != nil) && !c.intent {
		c.intent = true
		c.journal(Intent, nil)
	}
	c.flight = q
	c.out.Send = q
}

// joins: all that the write would do is to put this node at the end of the queue.
func (c *Contender) joins(op ledger.Op, next *ledger.Record) bool {
	if op.Want == 0 || c.copy.Entry(c.cfg.Node) != nil || len(next.Queue) != len(c.copy.Queue)+1 {
		return false
	}
	rest := next.Clone()
	rest.Queue = rest.Queue[:len(rest.Queue)-1]
	return next.Queue[len(rest.Queue)].Node == c.cfg.Node && rest.Same(&c.copy)
}

// giveBack: from the sending on, what next does not have any more counts as given back,
// and a lease that it makes shorter as short.
func (c *Contender) giveBack(next *ledger.Record, ttl time.Duration) {
	h := &c.hold
	if h.id == 0 || c.recovers {
		return
	}
	mine := next.Firm(c.cfg.Node)
	switch {
	case mine == nil || mine.ID != h.id:
		h.giving = true
		return
	case h.mode.Limit() > 0:
		h.count = min(h.count, mine.Count)
	}
	if ttl < h.ttl {
		h.deadline = min(h.deadline, c.now+ttl-c.cfg.Margin(ttl))
		c.journal(Deadline, nil)
	}
}

// Reply takes the answer to the request under way.
func (c *Contender) Reply(now time.Duration, r ledger.Reply, err error) Effects {
	c.now = now
	q := c.flight
	c.flight = nil
	switch {
	case errors.Is(err, backend.ErrRefused):
		c.retryLater(err)
		c.look = c.look || q.Swap == nil
		c.hold.giving = c.hold.giving && c.unresolved
	case err != nil:
		c.retryLater(err)
		if q.Swap == nil {
			c.look = true // a join that comes late does no harm
		} else {
			c.unresolved = true
		}
	default:
		c.retryAt, c.pause = 0, 0
		c.answered(q, r)
	}
	return c.advance()
}

// retryLater has the next request wait: a little longer each time, or until the store
// says that it will serve.
func (c *Contender) retryLater(err error) {
	c.pause = min(max(2*c.pause, c.cfg.Retry), max(c.cfg.RetryMost, c.cfg.Retry))
	c.retryAt = c.now + c.pause
	var later *backend.Later
	if errors.As(err, &later) {
		c.retryAt = max(c.retryAt, c.now+later.After)
	}
}

// answered takes what the store has said.
func (c *Contender) answered(q *Request, r ledger.Reply) {
	written := q.Swap != nil && r.Written
	if written || r.Version != q.base {
		c.unresolved, c.watch, c.unheard = false, false, nil
	}
	c.take(r)
	c.queue.answered()
	if !c.unresolved {
		c.hold.giving = false
	}
	if written {
		c.wrote(q, r)
	}
	c.expire()
	c.seeOthers(c.compare(q, written))
}

// wrote: the swap q is what the store has now.
func (c *Contender) wrote(q *Request, r ledger.Reply) {
	if q.describe {
		c.describe = false
	}
	if q.bar {
		c.bar = 0
	}
	for _, h := range c.copy.Holds {
		if h.Offered && h.Node != c.cfg.Node {
			c.watch = true
			if slices.Contains(r.Unheard, h.Node) {
				c.unheard = append(c.unheard, h.ID)
			}
		}
	}
	for _, w := range c.in {
		if w.phase == told && w.written != w.Entries && q.describe {
			w.written = w.Entries
			c.out.Written = append(c.out.Written, w)
		}
	}
}

// compare brings what we think that we hold in line with what the store has. more: we
// were granted something by q.
func (c *Contender) compare(q *Request, written bool) (more bool) {
	mine := c.copy.Firm(c.cfg.Node)
	switch {
	case c.recovers:
		if written {
			c.reclaimed(q, mine)
		}
	case c.leaving:
	case c.hold.id != 0 && mine != nil && mine.ID == c.hold.id:
		c.hold.broken = false
		return c.confirmed(q, mine, written)
	case c.hold.id != 0 && len(c.in) > 0:
		c.missing()
	default: // given back, if there was anything
		c.hold = hold{}
		if written && mine != nil {
			c.grantedHold(q, mine)
			return true
		}
	}
	return false
}

// missing: the store does not have the hold. One that may have forgotten is told of it.
func (c *Contender) missing() {
	if c.cfg.Restores && !c.hold.broken && slices.ContainsFunc(c.in, func(w *Caller) bool { return w.phase == told || w.phase == kept }) {
		c.recovers, c.reclaiming = true, c.hold.id
		return
	}
	reason := Gone
	if c.hold.broken {
		reason = ByForce
	}
	c.loseAll(reason)
	c.forget()
}

// grantedHold: a write of ours has got the name.
func (c *Contender) grantedHold(q *Request, mine *ledger.Hold) {
	c.hold = hold{id: mine.ID, mode: mine.Mode, count: mine.Count, block: mine.Block, fresh: true}
	c.top = max(c.top, mine.Block)
	c.stamp(q)
	c.hold.allow = c.fitting()
}

// stamp: the lease began anew with the sending of q.
func (c *Contender) stamp(q *Request) {
	h := &c.hold
	h.ttl, h.stamped, h.failing = q.ttl, q.SentAt, false
	h.deadline = q.SentAt + q.ttl - c.cfg.Margin(q.ttl)
	h.renewAt = q.SentAt + q.ttl/3
}

// confirmed: the store has our hold, changed perhaps by our write.
func (c *Contender) confirmed(q *Request, mine *ledger.Hold, written bool) (more bool) {
	h := &c.hold
	grew := mine.Count - h.count
	if !c.unresolved {
		h.count = mine.Count
	}
	if !written {
		return false
	}
	if c.now < h.deadline {
		before := h.deadline
		ttl := h.ttl
		c.stamp(q)
		if q.ttl >= ttl {
			h.deadline = max(h.deadline, before)
		}
		c.prolonged(before)
		c.settled(q)
	}
	if mine.Block != h.block {
		h.block, h.used = mine.Block, 0
	}
	if grew > 0 && h.mode.Limit() > 0 { // what became free here meanwhile is not for us
		h.others, h.since = false, 0
		h.allow = min(c.fitting(), grew)
		return true
	}
	return false
}

// settled: the store knows the lease of those who were let in before q was sent.
func (c *Contender) settled(q *Request) {
	for _, w := range c.in {
		if !w.settle || w.began > q.SentAt || w.TTL > q.ttl {
			continue
		}
		w.settle = false
		if w.Fixed {
			w.Until = q.SentAt + w.TTL - c.cfg.Margin(w.TTL)
		}
		c.out.Granted = append(c.out.Granted, w)
	}
}

// seeOthers notes whether others wait; fresh: the hold is a new one, whose allowance is
// what it was granted for.
func (c *Contender) seeOthers(fresh bool) {
	if c.hold.id == 0 {
		c.nudged = false
		return
	}
	was, n := c.hold.others, c.fitting()
	if wait := c.copy.OthersWait(c.cfg.Node) || c.nudged; !wait {
		c.hold.others, c.hold.since = false, 0
	} else if fresh {
		c.hold.others, c.hold.since = true, c.now
	} else {
		c.hold.others = was
		c.othersWait(n)
	}
	c.nudged = false
}

// reclaimed: the store has answered for what was there when the journal ended.
func (c *Contender) reclaimed(q *Request, mine *ledger.Hold) {
	c.recovers = false
	if mine == nil || mine.ID != c.reclaiming || len(c.in) == 0 || c.now >= c.hold.deadline {
		c.loseAll(Gone)
		c.forget()
		c.leaving = c.copy.Has(c.cfg.Node)
		return
	}
	before := c.hold.deadline
	c.hold.id, c.hold.count, c.hold.mode = mine.ID, mine.Count, mine.Mode
	c.stamp(q)
	c.hold.deadline = max(c.hold.deadline, before)
	c.prolonged(before)
	c.settled(q)
}

// prolonged tells the journal, if the deadline is a later one.
func (c *Contender) prolonged(before time.Duration) {
	if c.hold.deadline > before && len(c.in) > 0 {
		c.journal(Deadline, nil)
	}
}

// renew asks for a renewal, when it is due and there is somebody to renew for.
func (c *Contender) renew() {
	h := &c.hold
	if c.renewing || !c.renews() || c.now < h.renewAt || c.now >= h.deadline {
		return
	}
	c.renewing = true
	c.out.Renew = &ledger.Renewal{ID: h.id, TTL: h.ttl}
}

func (c *Contender) renews() bool {
	h := &c.hold
	if h.id == 0 || h.giving || c.recovers {
		return false
	}
	return c.queue.len() > 0 || slices.ContainsFunc(c.in, func(w *Caller) bool { return !w.Fixed || w.phase == kept })
}

// Renewed takes the answer to a renewal that was sent at sentAt. It resolves nothing.
func (c *Contender) Renewed(now time.Duration, r ledger.Renewal, sentAt time.Duration, err error) Effects {
	c.now = now
	c.renewing = false
	c.expire()
	h := &c.hold
	if r.ID != h.id || h.id == 0 {
		return c.advance()
	}
	switch {
	case err == nil:
		before := h.deadline
		h.deadline = max(h.deadline, sentAt+r.TTL-c.cfg.Margin(r.TTL))
		h.renewAt, h.failing = sentAt+r.TTL/3, false
		c.prolonged(before)
	case errors.Is(err, backend.ErrNotHeld):
		c.look = true // and say what became of it
		h.renewAt = now + h.ttl/3
	default:
		h.renewAt = now + c.cfg.Retry
		c.out.Jeopardy = !h.failing
		h.failing = true
	}
	return c.advance()
}

// timer is when something is due next.
func (c *Contender) timer() time.Duration {
	var at time.Duration
	due := func(t time.Duration) {
		if t > c.now && (at == 0 || t < at) {
			at = t
		}
	}
	if c.flight == nil {
		due(c.retryAt)
	}
	if h := &c.hold; h.id != 0 {
		due(h.deadline)
		if !c.renewing && c.renews() {
			due(h.renewAt)
		}
		if c.cfg.Retain > 0 && len(c.in) == 0 && c.queue.len() == 0 {
			due(h.idle + c.cfg.Retain)
			due(h.deadline - h.ttl/3)
		}
	}
	for _, w := range c.in {
		due(w.Until)
		due(w.MaxHoldAt)
		if w.phase == kept {
			due(w.MinHoldAt)
		}
	}
	if c.queue.len() > 0 || c.watch {
		for _, h := range c.copy.Holds {
			if h.Node != c.cfg.Node {
				due(h.End)
			}
		}
	}
	return at
}
