package redlock

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Renew implements backend.Backend: one script for each node, and one for each
// hold that a node has lost.
func (b *Backend) Renew(ctx context.Context, rs []backend.Renewal) ([]error, error) {
	began, m := boottime(), message{}
	for _, r := range rs {
		if r.TTL > b.maxTTL {
			return nil, b.tooLong(r.TTL)
		}
		k := keysOf(b.cfg.KeyPrefix + r.Name)
		m.keys = append(m.keys, k.lock, k.state, k.last)
		m.args = append(m.args, b.contender(r.Slot), uint64(r.Hold), r.TTL.Milliseconds())
	}
	c := &count{yes: make([]int, len(rs)), no: make([]int, len(rs))}
	done := b.collect(ctx, func(ctx context.Context, n *node) vote { return b.renewOn(ctx, n, rs, m) }, func(r *round) bool {
		c.add(r.votes[len(r.votes)-1])
		return slices.Min(c.yes) >= b.quorum()
	})
	if c.nodes < b.quorum() {
		return nil, done.unavailable()
	}
	errs := make([]error, len(rs))
	for i, r := range rs {
		switch {
		case c.yes[i] >= b.quorum():
			b.renewed(r, began)
		case c.no[i] > len(b.nodes)-b.quorum():
			b.drop(backend.Request{Name: r.Name, Slot: r.Slot, Hold: r.Hold})
			errs[i] = backend.ErrNotHeld
		default:
			errs[i] = done.unavailable()
		}
	}
	return errs, nil
}

// count of the nodes that have renewed each hold, and that have not.
type count struct {
	yes, no []int
	nodes   int // that have answered
}

func (c *count) add(v vote) {
	if v.err != nil {
		return
	}
	c.nodes++
	for i := range c.yes {
		if v.reply.number(i) == 1 {
			c.yes[i]++
		} else {
			c.no[i]++
		}
	}
}

func (b *Backend) renewOn(ctx context.Context, n *node, rs []backend.Renewal, m message) vote {
	v, err := renewScript.Run(ctx, n.renewals, m.keys, m.args...).Slice()
	if err != nil {
		return vote{n: n, err: n.outcome(err)}
	}
	for i, r := range rs {
		if reply(v).number(i) == 2 && b.fill(ctx, n, place{r.Name, r.Slot}, r.Hold, r.TTL) {
			v[i] = int64(1)
		}
	}
	return vote{n: n, reply: v}
}

func (b *Backend) renewed(r backend.Renewal, began time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.holds[place{r.Name, r.Slot}]; h != nil && h.first == r.Hold {
		h.until = max(h.until, began+r.TTL)
	}
}

func (b *Backend) tooLong(ttl time.Duration) error {
	return fmt.Errorf("%w: a ttl of %v is longer than these nodes remember for certain, %v (max_ttl in backend.url)",
		backend.ErrInvalid, ttl, b.maxTTL)
}
