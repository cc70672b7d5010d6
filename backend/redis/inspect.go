package redis

import (
	"context"

	"github.com/lockgw/lockgw/backend"
)

// Inspect implements backend.Backend.
func (b *Backend) Inspect(ctx context.Context, name string) (backend.Status, error) {
	k := keysOf(b.cfg.KeyPrefix + name)
	m := append(newMessage(8, 0), k.lock, k.state, k.queue, k.entries, k.counter, k.last, k.shares, k.ends)
	v, err := b.requests.eval(ctx, k.lock, inspectScript, m)
	if err != nil {
		return backend.Status{Name: name}, err
	}
	a, err := asReply(v)
	if err != nil {
		return backend.Status{Name: name}, err
	}
	return backend.Status{
		Name: name, Held: a.number(0) == 1, Foreign: a.number(1) == 1, Owner: backend.Owner(a.text(2)), Count: int(a.number(3)),
		Node: a.text(4), Hold: a.fence(5), Turn: a.fence(6), Top: a.fence(7), TTL: a.millis(8), Waiters: int(a.number(9)),
		Record: a.text(10), Mode: backend.Mode(a.number(11)), Holders: int(a.number(12)),
	}, nil
}
