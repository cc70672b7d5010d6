package contender

import (
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Printer writes the parts of a state of which a model wants to know only whether they
// are equal, and in which order.
type Printer interface {
	Fence(backend.Fence)
	Version(ledger.Version)
	Time(time.Duration)
	Came(int64)
	Int(...int)
	Text(string)
	Record(*ledger.Record)
}

// Fingerprint prints all that decides what c will do.
func (c *Contender) Fingerprint(p Printer) {
	h := &c.hold
	p.Version(c.version)
	p.Record(&c.copy)
	p.Int(bit(c.unresolved), bit(c.look), bit(c.nudged), bit(c.watch), bit(c.deaf), bit(c.leaving), bit(c.recovers), bit(c.renewing), bit(c.describe), bit(c.intent), bit(h.giving))
	p.Int(c.asking)
	if c.least != 0 {
		p.Int(int(c.least))
	}
	p.Time(c.retryAt)
	if c.cfg.RetryMost > c.cfg.Retry {
		p.Int(int(c.pause))
	}
	p.Time(c.bar)
	p.Int(bit(c.recall.unused))
	p.Time(c.recall.until)
	for _, id := range c.unheard {
		p.Fence(id)
	}
	p.Text("|")
	if c.recovers {
		p.Fence(c.reclaiming)
	}
	if h.id != 0 {
		p.Fence(h.id)
		p.Fence(h.block)
		p.Int(int(h.mode), h.count, h.used, bit(h.failing), bit(h.others), h.allow*bit(h.others), bit(h.broken), bit(h.fresh), bit(h.behind))
		for _, t := range []time.Duration{h.ttl + c.now, h.deadline, h.renewAt} {
			p.Time(t)
		}
	}
	if q := c.flight; q != nil {
		p.Int(1, int(q.verb), bit(q.describe), bit(q.bar), q.had)
		p.Time(max(q.until, h.deadline))
		p.Version(q.base)
	}
	for _, list := range [][]*Caller{c.queue.ws, c.in} {
		p.Text("|")
		for _, w := range list {
			p.Text(string(w.Owner))
			p.Int(int(w.phase), bit(w.seen), bit(w.asked), bit(w.settle), bit(w.Fixed), bit(w.NoWait), int(w.TTL), w.Entries, w.sent, bit(w.stale))
			p.Came(w.came)
			p.Time(w.Until)
			p.Time(w.MaxHoldAt)
			p.Time(w.MinHoldAt)
		}
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Clone copies c and its callers; of maps each of them to its copy. A request that is
// under way is shared: it does not change.
func (c *Contender) Clone(of func(*Caller) *Caller) *Contender {
	n := *c
	n.copy = c.copy.Clone()
	copied := func(ws []*Caller) []*Caller {
		out := make([]*Caller, len(ws))
		for i, w := range ws {
			out[i] = of(w)
		}
		return out
	}
	n.queue.ws, n.in = copied(c.queue.ws), copied(c.in)
	return &n
}

// Flight is the request under way, if any.
func (c *Contender) Flight() *Request { return c.flight }
