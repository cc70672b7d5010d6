package redlock

import (
	"context"
	"fmt"
	"slices"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
)

// Renew implements backend.Backend: one script for each node, or two, and one for each
// hold that a node has lost.
func (b *Backend) Renew(ctx context.Context, rs []backend.Renewal) ([]error, error) {
	began := boottime.Now()
	for _, r := range rs {
		if r.TTL > b.maxTTL {
			return nil, b.tooLong(r.TTL)
		}
	}
	alone, several := b.renewal(rs)
	c := &count{yes: make([]int, len(rs)), no: make([]int, len(rs))}
	done := b.collect(ctx, func(ctx context.Context, n *node) vote { return b.renewOn(ctx, n, rs, alone, several) }, func(r *round) bool {
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
		if v.reply.Number(i) == 1 {
			c.yes[i]++
		} else {
			c.no[i]++
		}
	}
}

// renewal is what the scripts are told: about holds that are alone, and about those
// of which a name has several.
func (b *Backend) renewal(rs []backend.Renewal) (alone, several part) {
	for i, r := range rs {
		k, p := keysOf(b.cfg.KeyPrefix+r.Name), &alone
		me := b.contender(r.Slot)
		if r.Mode == backend.Exclusive {
			p.keys = append(p.keys, k.lock, k.state, k.last)
		} else {
			p = &several
			p.keys = append(p.keys, k.lock, k.shares, k.ends, k.last, k.floor+me)
		}
		p.args = append(p.args, me, uint64(r.Hold), r.TTL.Milliseconds())
		p.indexes = append(p.indexes, i)
	}
	return alone, several
}

// part of the renewals, which one script carries out.
type part struct {
	message
	indexes []int
}

func (b *Backend) renewOn(ctx context.Context, n *node, rs []backend.Renewal, alone, several part) vote {
	v := make([]any, len(rs))
	for _, p := range []struct {
		part
		script *goredis.Script
	}{{alone, renewScript}, {several, renewShares}} {
		if len(p.indexes) == 0 {
			continue
		}
		results, err := p.script.Run(ctx, n.renewals, p.keys, p.args...).Slice()
		if err != nil {
			return vote{n: n, err: n.outcome(err)}
		}
		for i, at := range p.indexes {
			v[at] = results[i]
		}
	}
	for i, r := range rs {
		if reply(v).Number(i) == 2 && b.fill(ctx, n, place{r.Name, r.Slot}, r.Hold, r.TTL) {
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
