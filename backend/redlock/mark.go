package redlock

import (
	"context"
	"errors"
	"sync"

	goredis "github.com/redis/go-redis/v9"
)

// A node that writes each change to its disk before it answers forgets nothing in a
// restart, but what if that disk is lost? So gateways leave a mark on each node that they
// use. One that comes back without it has forgotten all, as far as anybody knows, even if
// it is new: but where no node has a mark, all are new together.
//
// An older copy of the data has the mark. Nobody can tell it from the newest.
const (
	markKey     = "lockgw:redlock"
	markUsed    = "used"
	markDurable = "durable" // and has written each change to its disk ever since
)

// founder marks nodes that are new.
type founder struct {
	mu   sync.Mutex
	past bool // this gateway has seen a mark: what has none since then has lost it
}

// marked is the mark of the node; "": it has none, or does not say.
func (n *node) marked(ctx context.Context) string {
	mark, err := n.client.Get(ctx, markKey).Result()
	if errors.Is(err, goredis.Nil) {
		n.found(ctx)
		mark, _ = n.client.Get(ctx, markKey).Result()
	}
	return mark
}

// setMark notes on a node that counts how it keeps locks from now on. If that fails, the
// node counts as one that may have forgotten when it comes back.
func (n *node) setMark(ctx context.Context, was string, durable bool) {
	mark := markUsed
	if durable {
		mark = markDurable
	}
	if mark != was && n.memory.whyNot() == nil {
		_ = n.client.Set(ctx, markKey, mark, 0).Err()
	}
}

// found marks all nodes if all of them are new. The ones that do not write each change to
// their disk are marked otherwise when they are asked about that.
func (b *Backend) found(ctx context.Context) {
	b.founder.mu.Lock()
	defer b.founder.mu.Unlock()
	if b.founder.past {
		return
	}
	done := b.collect(ctx, func(ctx context.Context, n *node) vote {
		mark, err := n.client.Get(ctx, markKey).Result()
		if errors.Is(err, goredis.Nil) {
			err = nil
		}
		return vote{n: n, reply: reply{mark}, err: err}
	}, func(*round) bool { return false })
	unmarked := 0
	for _, v := range done.votes {
		switch {
		case v.err != nil: // it may have a mark
		case v.reply.Text(0) == "":
			unmarked++
		default:
			b.founder.past = true
		}
	}
	if b.founder.past || unmarked < len(b.nodes) {
		return
	}
	b.founder.past = true
	b.each(ctx, func(ctx context.Context, n *node) vote {
		return vote{n: n, err: n.client.SetNX(ctx, markKey, markDurable, 0).Err()}
	}, func(vote) bool { return false })
}
