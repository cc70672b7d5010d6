package contender

import (
	"errors"
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Reply takes the answer to the request under way.
func (c *Contender) Reply(now time.Duration, r ledger.Reply, err error) Effects {
	c.now = now
	q := c.flight
	c.flight = nil
	if q.describe && (err != nil || !r.Written) {
		c.describe = c.describe || c.hold.id != 0
	}
	switch {
	case errors.Is(err, backend.ErrRefused):
		c.retryLater(err)
		c.look = c.look || q.Swap == nil
		if !c.unresolved {
			c.kept(q)
			c.refuseAll(Refused, func(w *Caller) bool { return w.NoWait })
		}
	case err != nil:
		c.retryLater(err)
		if q.Swap == nil {
			c.look = true // a join that comes late does no harm
		} else {
			c.unresolved = true
		}
		if !errors.Is(err, backend.ErrUnavailable) { // to ask again will hardly help those who wait
			c.refuseAll(Failed, func(*Caller) bool { return true })
		}
	default:
		c.retryAt, c.pause = 0, 0
		c.answered(q, r)
	}
	return c.advance()
}

// kept: what q was to give back is ours still.
func (c *Contender) kept(q *Request) {
	c.hold.giving = false
	if c.hold.id != 0 {
		c.hold.count = q.had
	}
	c.lasts(q)
}

// lasts: q was not written, and has not made the lease shorter.
func (c *Contender) lasts(q *Request) {
	if before := c.hold.deadline; c.hold.id != 0 {
		c.hold.deadline = max(before, q.until)
		c.prolonged(before)
	}
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
	} else {
		c.lasts(q)
	}
	c.expire()
	c.seeOthers(c.compare(q, written))
	if written && q.describe {
		c.described()
	}
}

// wrote: the swap q is what the store has now.
func (c *Contender) wrote(q *Request, r ledger.Reply) {
	if q.bar {
		c.bar = 0
	}
	for _, h := range c.copy.Holds {
		if h.Offered && h.Node != c.cfg.Node {
			c.watch = true
			if slices.Contains(r.Unheard, h.Node) && !c.copy.Looks(h.Node) {
				c.unheard = append(c.unheard, h.ID)
			}
		}
	}
}

// described: the store knows what it was told of those who have something still.
func (c *Contender) described() {
	for _, w := range c.in {
		if w.phase == told && w.stale && w.sent == w.Entries {
			w.stale = false
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
	case mine != nil && mine.ID == c.hold.id:
		c.hold.broken = false
		// A store that has an older record again, or whose clock was set forward, would grant the
		// name to others too early. What a write makes of the lease counts from then on.
		c.hold.behind = !written && c.cfg.Restores && mine.End < c.hold.deadline
		return c.confirmed(q, mine, written)
	case len(c.in) > 0:
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
	if c.restores(c.hold.id) && !c.hold.broken && slices.ContainsFunc(c.in, (*Caller).Holds) {
		c.recovers, c.reclaiming = true, c.hold.id
		return
	}
	c.loseAll(c.goneWhy(c.hold.id))
	c.forget()
}

// goneWhy says why the store does not have the hold any more.
func (c *Contender) goneWhy(id backend.Fence) Reason {
	if c.hold.broken || c.copy.Broken == id {
		return ByForce
	}
	return Gone
}

// restores: the store may have forgotten the hold, and is to be told of it again.
func (c *Contender) restores(id backend.Fence) bool {
	return c.cfg.Restores && !slices.Contains(c.deleted, id)
}

// grantedHold: a write of ours has got the name.
func (c *Contender) grantedHold(q *Request, mine *ledger.Hold) {
	c.hold = hold{id: mine.ID, mode: mine.Mode, count: mine.Count, block: mine.Block, fresh: true}
	c.stamp(q)
	c.slow = c.now >= c.hold.deadline
	c.hold.allow = c.askers()
}

// askers is how many of those who come in now may, if others wait: who came while the answer was
// under way came after those who wait elsewhere.
func (c *Contender) askers() (n int) {
	for all := c.fitting(); n < all && c.queue.ws[n].asked; {
		n++
	}
	return n
}

// confirmed: the store has our hold, changed perhaps by our write.
func (c *Contender) confirmed(q *Request, mine *ledger.Hold, written bool) (more bool) {
	h := &c.hold
	c.endBroken(mine)
	grew := mine.Count - h.count
	if !written { // more than was ours is no grant
		h.count = min(h.count, mine.Count)
		return false
	}
	h.count = mine.Count
	c.fit()
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
	switch {
	case mine.Block > h.block:
		h.block, h.used = mine.Block, 0
	case mine.Block < h.block: // the store has an older record again, whose fences were given
		h.used = c.cfg.Turns
	}
	if grew > 0 { // what became free here meanwhile is not for us
		h.allow = min(c.askers(), grew)
		return true
	}
	return false
}

// fit: a store that has an older record again may have granted permits that are used here to
// others, and nobody can tell whose.
func (c *Contender) fit() {
	for c.hold.mode.Limit() > 0 && len(c.in) > c.hold.count {
		c.lose(c.in[len(c.in)-1], Gone)
	}
}

// endBroken ends the holds of those callers that an administrator has broken.
func (c *Contender) endBroken(mine *ledger.Hold) {
	if len(mine.Breaks) == 0 {
		return
	}
	for _, w := range slices.Clone(c.in) {
		if slices.Contains(mine.Breaks, w.Fence) { // told or not: others see it already
			c.keepOut()
			c.lose(w, ByForce)
		}
	}
}

// settled: the store knows the lease of those who were let in before q was sent.
func (c *Contender) settled(q *Request) {
	for _, w := range c.in {
		if !w.settle || w.sent == 0 {
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
	switch wait := c.copy.OthersWait(c.cfg.Node) || c.nudged; {
	case !wait:
		c.hold.others, c.hold.since = false, 0
	case fresh:
		c.hold.others, c.hold.since = true, c.now
	default:
		c.othersWait()
	}
	c.nudged = false
}

// reclaimed: the store has answered for what was there when the journal ended.
func (c *Contender) reclaimed(q *Request, mine *ledger.Hold) {
	c.recovers = false
	if mine == nil || mine.ID != c.reclaiming || len(c.in) == 0 {
		c.loseAll(c.goneWhy(c.reclaiming))
		c.forget()
		c.leaving = c.copy.Has(c.cfg.Node)
		return
	}
	before := c.hold.deadline
	c.hold.id, c.hold.count, c.hold.mode = mine.ID, mine.Count, mine.Mode
	c.hold.block, c.hold.used = mine.Block, c.cfg.Turns // which of its fences were given is not known
	c.fit()
	c.stamp(q)
	c.hold.deadline = max(c.hold.deadline, before)
	c.prolonged(before)
	c.settled(q)
	c.endBroken(mine)
}
