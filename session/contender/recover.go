package contender

import (
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Past is what the journal says that an earlier process held.
type Past struct {
	ID       backend.Fence
	Mode     backend.Mode
	Deadline time.Duration // that was told
	Given    backend.Fence // newest that a caller was told
	// Callers are those who were let in, with their fences.
	Callers []*Caller
}

// Recover makes the contender of a name of which the journal says that something of
// this node may be in the store. What was told stays told until the deadline; nobody
// is let in before the store has answered, nor with the fences that are left of the
// last block.
func Recover(now time.Duration, cfg *Config, past Past) (*Contender, Effects) {
	c := &Contender{cfg: cfg, now: now, recovers: true, intent: true, reclaiming: past.ID, given: past.Given, in: slices.Clone(past.Callers)}
	c.least = 1 // a write of the earlier process may come
	if len(c.in) > 0 {
		c.hold = hold{id: past.ID, mode: past.Mode, count: len(c.in), used: cfg.Turns, deadline: past.Deadline}
	}
	for _, w := range c.in {
		if w.phase = told; w.Kept {
			w.phase = kept
		}
		w.sent = w.Entries
		c.hold.ttl = max(c.hold.ttl, w.TTL, cfg.leaseFor(past.Deadline-now))
		c.top = max(c.top, w.Fence+backend.Fence(cfg.Turns))
		c.hold.last = max(c.hold.last, w.Fence)
		c.given = max(c.given, w.Fence)
	}
	return c, c.advance()
}
