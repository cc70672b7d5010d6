package contender

import (
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Waits: w stands in the queue.
func (w *Caller) Waits() bool { return w.phase == waiting }

// Holds: w was told that it holds the name, and that is not over. It may be Kept.
func (w *Caller) Holds() bool { return w.phase == told || w.phase == kept }

// In are those who are let in, whether they were told or not. It is not to be kept or
// changed.
func (c *Contender) In() []*Caller { return c.in }

// Waiting are those who wait, the next one first. It is not to be kept or changed.
func (c *Contender) Waiting() []*Caller { return c.queue.ws }

// Record is what the store has as far as is known, with ends on the clock of this node.
func (c *Contender) Record() *ledger.Record {
	r := c.copy.Clone()
	return &r
}

// Failing: the last renewal of what is held got no answer.
func (c *Contender) Failing() bool { return c.hold.failing }

// Known: how things are for w is known, because the store has answered since it came, or
// because the name is in use here.
func (c *Contender) Known(w *Caller) bool { return w.seen || len(c.in) > 0 }

// KnownLate: likewise for one whose wait is over. It may have come behind others for whom the
// store has said that this node has to wait, and tells it when it need not.
func (c *Contender) KnownLate(w *Caller) bool {
	return c.Known(w) || c.copy.Entry(c.cfg.Node) != nil
}

// Granting: a write is under way by which this node may get the name, or more of it.
func (c *Contender) Granting() bool {
	return c.flight != nil && c.flight.Swap != nil && c.flight.Swap.Effects.Grants
}

// Unknown: a write got no answer and may still be carried out.
func (c *Contender) Unknown() bool { return c.unresolved }

// Owes: something of this node that nobody here has or wants may still be in the store,
// where it is being given back. What is retained for the next caller is not.
func (c *Contender) Owes() bool {
	switch {
	case c.queue.len() > 0 || !c.intent:
		return false
	case len(c.in) > 0:
		mine := c.copy.Firm(c.cfg.Node)
		return c.hold.mode.Limit() > 0 && mine != nil && mine.Count > len(c.in)
	case c.flight != nil || c.unresolved || c.recovers || c.leaving || c.look:
		return true
	default:
		return c.copy.Has(c.cfg.Node) && !(c.hold.id != 0 && c.retains())
	}
}

// Keeps: all that this node has was released, and is only kept for its min_hold.
func (c *Contender) Keeps() bool {
	return len(c.in) > 0 && c.queue.len() == 0 && c.flight == nil && !c.unresolved && !c.recovers && !c.Owes() &&
		!slices.ContainsFunc(c.in, func(w *Caller) bool { return w.phase != kept })
}

// Last is the newest fence that a caller was let in with under the hold that there is; 0: none.
// alone: it is an exclusive one.
func (c *Contender) Last() (f backend.Fence, alone bool) {
	return c.hold.last, c.hold.id != 0 && c.hold.mode == backend.Exclusive
}

// Recovering: what an earlier process held is not confirmed by the store.
func (c *Contender) Recovering() bool { return c.recovers }

// End is when what is held is over, unless it is prolonged before; 0: nothing is held.
func (c *Contender) End() time.Duration { return c.hold.deadline }

// Slow: the store took so long to grant the name that the lease was over by then, and nobody
// else has it.
func (c *Contender) Slow() bool {
	return c.slow && !slices.ContainsFunc(c.copy.Holds, func(h ledger.Hold) bool { return h.Node != c.cfg.Node })
}

// Hold names what the store has granted to this node, as far as it knows; 0: nothing.
func (c *Contender) Hold() backend.Fence { return c.hold.id }
