package contender

import (
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
)

// A renewal and a write that are under way at the same time may be carried out in either
// order, and the write sets the lease: it may be shorter than the renewal has made it. So
// a renewal counts for no more than the shortest lease of the writes that were under way,
// or might have been, between its sending and its answer.

// ask makes a renewal for ttl.
func (c *Contender) ask(ttl time.Duration) *ledger.Renewal {
	c.alone()
	c.asking++
	return &ledger.Renewal{ID: c.hold.id, TTL: ttl}
}

// shortens notes a write that sets the lease to ttl.
func (c *Contender) shortens(ttl time.Duration) {
	c.alone()
	if c.least == 0 || ttl < c.least {
		c.least = ttl
	}
}

// alone forgets the writes if neither one nor a renewal is under way.
func (c *Contender) alone() {
	if c.asking == 0 && !c.unresolved && !c.recovers && (c.flight == nil || c.flight.Swap == nil) {
		c.least = 0
	}
}

// sure is how long a renewal for ttl, whose answer has come, counts.
func (c *Contender) sure(ttl time.Duration) time.Duration {
	c.asking--
	if c.least == 0 {
		return ttl
	}
	return min(ttl, c.least)
}

// Prolong makes a renewal on behalf of w: what w holds is to last for ttl from now at
// least. false: w holds nothing.
func (c *Contender) Prolong(now time.Duration, w *Caller, ttl time.Duration) (ledger.Renewal, bool, Effects) {
	c.now = now
	c.expire()
	if w.phase != told {
		return ledger.Renewal{}, false, c.advance()
	}
	if ttl > w.TTL {
		w.TTL = ttl
		c.journal(Lease, w)
	}
	r := *c.ask(ttl)
	return r, true, c.advance()
}

// Prolonged takes the answer to a renewal by Prolong that was sent at sentAt. It may
// count for less than was asked, because of a write that was under way, or for nothing: Deadline tells.
func (c *Contender) Prolonged(now time.Duration, w *Caller, r ledger.Renewal, sentAt time.Duration, err error) Effects {
	c.now = now
	ttl := c.answeredFor(r, sentAt, err)
	if until := sentAt + ttl - c.cfg.Margin(ttl); w.phase == told && w.Fixed && until > w.Until {
		w.Until = until
		c.journal(Lease, w)
	}
	return c.advance()
}

// Loosen puts the lease of w, who was told, under the watchdog.
func (c *Contender) Loosen(now time.Duration, w *Caller) Effects {
	c.now = now
	c.expire()
	if w.phase == told && w.Fixed {
		w.Fixed, w.Until = false, 0
		c.journal(Lease, w)
	}
	return c.advance()
}
