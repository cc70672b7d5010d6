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
	h.renewAt = q.SentAt + q.ttl/3
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
