package contender

import (
	"errors"
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// stamp: the lease began anew with the sending of q.
func (c *Contender) stamp(q *Request) {
	h := &c.hold
	h.ttl, h.stamped, h.failing = q.ttl, q.SentAt, false
	h.deadline = q.SentAt + q.ttl - c.cfg.Margin(q.ttl)
	h.renewAt = renewAt(q.SentAt, q.ttl)
}

// leaseFor is the lease whose holder counts it as over d after its beginning.
func (cfg *Config) leaseFor(d time.Duration) time.Duration {
	ttl := d
	for next := d + cfg.Margin(d); next > ttl; next = d + cfg.Margin(ttl) {
		ttl = next
	}
	return ttl
}

// renewAt is when a lease of ttl is renewed that began at sent: at a third of it, or up to a
// twentieth of that before, so that a node that has many renews them together: to wake up for
// them costs more than they do.
func renewAt(sent, ttl time.Duration) time.Duration {
	at := sent + ttl/3
	return at - at%max(ttl/60, 1)
}

// prolonged tells the journal until when all have what they were told of, if that is later
// than before.
func (c *Contender) prolonged(before time.Duration) {
	if c.hold.deadline <= before {
		return
	}
	for _, w := range c.in {
		if w.Holds() {
			c.journal(Deadline, w)
		}
	}
}

// renew asks for a renewal, when it is due and there is somebody to renew for.
func (c *Contender) renew() {
	h := &c.hold
	if c.renewing || !c.renews() || c.now < h.renewAt && !c.wanting() || c.now >= h.deadline {
		return
	}
	c.renewing = true
	c.out.Renew = c.ask(h.ttl)
}

// wanting: somebody would come in if more were left of the lease, and a renewal can see to that. The
// last one may have counted for less, because of a write beside it.
func (c *Contender) wanting() bool {
	return c.flight == nil && !c.hold.failing && c.welcome() > c.comers()
}

func (c *Contender) renews() bool {
	h := &c.hold
	if h.id == 0 || h.giving || c.recovers {
		return false
	}
	return c.queue.len() > 0 || slices.ContainsFunc(c.in, func(w *Caller) bool { return !w.Fixed })
}

// Renewed takes the answer to a renewal that was sent at sentAt. It resolves nothing.
func (c *Contender) Renewed(now time.Duration, r ledger.Renewal, sentAt time.Duration, err error) Effects {
	c.now = now
	c.renewing = false
	c.answeredFor(r, sentAt, err)
	return c.advance()
}

// answeredFor takes the answer to a renewal, and returns how long the lease lasts at
// least from its sending; 0: not longer than before.
func (c *Contender) answeredFor(r ledger.Renewal, sentAt time.Duration, err error) time.Duration {
	c.expire()
	ttl := c.sure(r.TTL)
	h := &c.hold
	if r.ID != h.id {
		return 0
	}
	switch {
	case err == nil:
		before := h.deadline
		h.ttl = max(h.ttl, ttl)
		h.deadline = max(h.deadline, sentAt+ttl-c.cfg.Margin(ttl))
		h.renewAt, h.failing = max(h.renewAt, renewAt(sentAt, ttl)), false
		c.prolonged(before)
		return ttl
	case errors.Is(err, backend.ErrNotHeld):
		c.look = true // and say what became of it
		h.renewAt = c.now + h.ttl/3
	default:
		h.renewAt = c.now + c.cfg.Retry
		c.out.Jeopardy = !h.failing
		h.failing = true
	}
	return 0
}

// timer is when something is due next.
func (c *Contender) timer() time.Duration {
	var at time.Duration
	due := func(t time.Duration) {
		if t > c.now && (at == 0 || t < at) {
			at = t
		}
	}
	due(c.retryAt)
	due(c.recall.until)
	if h := &c.hold; h.id != 0 {
		due(h.deadline)
		if c.renews() {
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
	if c.alien() {
		due(c.alienAt())
	}
	return at
}

// alien: callers wait for a program outside lockgw.
func (c *Contender) alien() bool {
	return c.queue.len() > 0 && slices.ContainsFunc(c.copy.Holds, func(h ledger.Hold) bool { return h.Foreign() })
}

// alienAt is when to look at what such a program has, if nothing is heard of it: it may have made
// its lease shorter, or its key may have been deleted, and tells nobody.
func (c *Contender) alienAt() time.Duration { return c.read + c.queue.head().TTL }
