package redis

import (
	"context"
	"fmt"
	"sync"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

// kind of leases that one script renews: of one slot, and of holds that are alike.
type kind struct {
	slot   int
	shares bool
}

// Renew implements backend.Backend. One script renews the leases of one kind, and the
// kinds are renewed side by side: where some had no answer, their errors say so and
// those of the others count.
func (b *Backend) Renew(ctx context.Context, rs []backend.Renewal) ([]error, error) {
	byKind := map[kind][]int{} // indexes of rs
	for i, r := range rs {
		k := kind{b.renewals.slot(b.cfg.KeyPrefix + r.Name), r.Mode != backend.Exclusive}
		byKind[k] = append(byKind[k], i)
	}
	if len(byKind) == 1 {
		return b.renewAlike(ctx, rs)
	}
	errs := make([]error, len(rs))
	var wg sync.WaitGroup
	for _, group := range byKind {
		wg.Go(func() {
			some := make([]backend.Renewal, len(group))
			for k, i := range group {
				some[k] = rs[i]
			}
			answers, err := b.renewAlike(ctx, some)
			for k, i := range group {
				if errs[i] = err; err == nil {
					errs[i] = answers[k]
				}
			}
		})
	}
	wg.Wait()
	return errs, nil
}

// renewAlike renews leases of one kind.
func (b *Backend) renewAlike(ctx context.Context, rs []backend.Renewal) ([]error, error) {
	script, keys := renewScript, 2
	if rs[0].Mode != backend.Exclusive {
		script, keys = renewShares, 3
	}
	m := newMessage(keys*len(rs), 3*len(rs))
	for _, r := range rs {
		k := keysOf(b.cfg.KeyPrefix + r.Name)
		if m = append(m, k.lock); keys == 2 {
			m = append(m, k.state)
		} else {
			m = append(m, k.shares, k.ends)
		}
	}
	for _, r := range rs {
		m = append(m, b.contender(r.Slot), uint64(r.Hold), r.TTL.Milliseconds())
	}
	v, err := b.renewRequests.eval(ctx, b.cfg.KeyPrefix+rs[0].Name, script, m)
	if err != nil {
		return nil, err
	}
	a, err := conn.AsReply(v)
	if err != nil || len(a) != len(rs) {
		return nil, fmt.Errorf("redis: %d answers to %d renewals: %w", len(a), len(rs), err)
	}
	errs := make([]error, len(rs))
	for i := range rs {
		if a.Number(i) == 0 {
			errs[i] = backend.ErrNotHeld
		}
	}
	return errs, nil
}
