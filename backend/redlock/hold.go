package redlock

import (
	"context"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
)

// hold is what this node has of a name, as far as a majority has confirmed. By it
// the name is set again on a node that has lost it.
type hold struct {
	request   backend.Request // Owner, Count, Turn, Record and so on, as last told
	seq       uint64          // of the request that was granted
	described uint64
	first     backend.Fence
	block     backend.Fence
	turns     int
	permit    string
	until     time.Duration // when the lease ends unless it is renewed, by boottime
}

// end is the newest fence of the hold.
func (h *hold) end() backend.Fence { return h.block + backend.Fence(max(h.turns, 1)) - 1 }

func placeOf(r backend.Request) place { return place{r.Name, r.Slot} }

// note keeps that r was granted.
func (b *Backend) note(r backend.Request, a backend.Answer, permit string, began time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := placeOf(r)
	delete(b.waits, at)
	h := b.holds[at]
	if h == nil || h.first != a.Hold {
		h = &hold{request: r, seq: r.Seq, first: a.Hold}
		h.request.Turn = max(r.Turn, a.Hold)
		b.holds[at] = h
	}
	h.block, h.turns, h.permit = a.Block, a.Turns, permit
	h.until = max(h.until, began+r.TTL)
}

// drop forgets the hold that r ends, so that it is set nowhere any more.
func (b *Backend) drop(r backend.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.holds[placeOf(r)]; h != nil && (h.first == r.Hold || h.seq == r.Attempt) {
		delete(b.holds, placeOf(r))
	}
}

// standing is the hold if its lease still runs.
func (b *Backend) standing(at place, first backend.Fence) (hold, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.holds[at]
	if h == nil || h.first != first || boottime.Now() >= h.until {
		return hold{}, false
	}
	return *h, true
}

// fill sets the hold again on a node that has lost it.
func (b *Backend) fill(ctx context.Context, n *node, at place, first backend.Fence, ttl time.Duration) bool {
	h, ok := b.standing(at, first)
	if !ok {
		return false
	}
	r := h.request
	r.Name, r.Slot, r.Hold, r.Turns, r.TTL = at.name, at.slot, h.first, h.turns, ttl
	r.Attempt, r.Seq = h.seq, h.described
	return n.run(ctx, fillScript, b.message(order{Request: r, ballot: h.block, known: h.end(), permit: h.permit})).reply.Text(0) == "done"
}

// under asks all nodes something about a hold. A node that has lost it is given it
// back first.
func (b *Backend) under(ctx context.Context, s *goredis.Script, o order, enough func(*round) bool) *round {
	m := b.message(o)
	return b.collect(ctx, func(ctx context.Context, n *node) vote {
		v := n.run(ctx, s, m)
		if v.reply.Text(0) == "missing" && b.fill(ctx, n, placeOf(o.Request), o.Hold, o.TTL) {
			v = n.run(ctx, s, m)
		}
		return v
	}, enough)
}

// Describe implements backend.Backend.
func (b *Backend) Describe(ctx context.Context, r backend.Request) error {
	if h, ok := b.standing(placeOf(r), r.Hold); ok {
		r.TTL = h.until - boottime.Now()
	}
	if err := b.under(ctx, describeScript, order{Request: r}, settled("done")).verdict("done"); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.holds[placeOf(r)]; h != nil && h.first == r.Hold && r.Seq >= h.described {
		h.request.Owner, h.request.Count, h.request.Turn, h.request.Record = r.Owner, r.Count, r.Turn, r.Record
		h.described = r.Seq
	}
	return nil
}
