package redis

import (
	"context"
	"strings"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

// Inspect implements backend.Backend.
func (b *Backend) Inspect(ctx context.Context, name string) (backend.Status, error) {
	k := keysOf(b.cfg.KeyPrefix + name)
	m := append(newMessage(8, 2), k.lock, k.state, k.queue, k.entries, k.counter, k.last, k.shares, k.ends,
		backend.MaxSeveral, b.guard.suspicion())
	v, err := b.requests.eval(ctx, k.lock, inspectScript, m)
	if err != nil {
		return backend.Status{Name: name}, err
	}
	a, err := conn.AsReply(v)
	if err != nil {
		return backend.Status{Name: name}, err
	}
	return backend.Status{
		Name: name, Held: a.Number(0) == 1, Foreign: a.Number(1) == 1, Owner: backend.Owner(a.Text(2)), Count: int(a.Number(3)),
		Node: a.Text(4), Hold: a.Fence(5), Turn: a.Fence(6), Top: a.Fence(7), TTL: a.Millis(8), Waiters: int(a.Number(9)),
		Record: a.Text(10), Mode: backend.Mode(a.Number(11)), Holders: int(a.Number(12)),
		Refusing: b.refusing(ctx, k.lock, a.Text(13)), Several: several(a, 14),
		Head: b.head(a.Text(15)), Seen: a.Text(16),
	}, nil
}

// head says whose a contender is.
func (b *Backend) head(contender string) backend.Head {
	node, _, _ := strings.Cut(contender, ".")
	switch node {
	case "":
		return backend.HeadUntold
	case b.cfg.Node.ID:
		return backend.HeadOurs
	default:
		return backend.HeadTheirs
	}
}

// refusing says why a server of that id, which has key, would not grant it; "": it would.
func (b *Backend) refusing(ctx context.Context, key, id string) string {
	if id == "" {
		return ""
	}
	c, err := b.servers.of(ctx, key)
	if err == nil {
		err = b.meet(ctx, c, id)
	}
	if !quarantined(err) {
		return ""
	}
	return reason(err)
}

// reason is err without the words that say that it is a refusal.
func reason(err error) string {
	return strings.TrimPrefix(err.Error(), backend.ErrRefused.Error()+": ")
}

// several reads those who hold a name together.
func several(a conn.Reply, i int) (all []backend.Holding) {
	if i >= len(a) {
		return nil
	}
	items, _ := a[i].([]any)
	for _, item := range items {
		h, _ := item.([]any)
		r := conn.Reply(h)
		all = append(all, backend.Holding{
			Owner: backend.Owner(r.Text(0)), Count: int(r.Number(1)), Node: r.Text(2), Fence: r.Fence(3), TTL: r.Millis(4), Record: r.Text(5),
		})
	}
	return all
}
