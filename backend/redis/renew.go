package redis

import (
	"context"
	"fmt"
	"sync"

	"github.com/lockgw/lockgw/backend"
)

// Renew implements backend.Backend. One script renews the leases of one slot, and the
// slots are renewed side by side: where some had no answer, their errors say so and
// those of the others count.
func (b *Backend) Renew(ctx context.Context, rs []backend.Renewal) ([]error, error) {
	bySlot := map[int][]int{} // indexes of rs
	for i, r := range rs {
		slot := b.renewals.slot(b.cfg.KeyPrefix + r.Name)
		bySlot[slot] = append(bySlot[slot], i)
	}
	if len(bySlot) == 1 {
		return b.renewSlot(ctx, rs)
	}
	errs := make([]error, len(rs))
	var wg sync.WaitGroup
	for _, group := range bySlot {
		wg.Go(func() {
			some := make([]backend.Renewal, len(group))
			for k, i := range group {
				some[k] = rs[i]
			}
			answers, err := b.renewSlot(ctx, some)
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

// renewSlot renews leases whose keys one script may use.
func (b *Backend) renewSlot(ctx context.Context, rs []backend.Renewal) ([]error, error) {
	m := newMessage(4*len(rs), 3*len(rs))
	for _, r := range rs {
		k := keysOf(b.cfg.KeyPrefix + r.Name)
		m = append(m, k.lock, k.state, k.shares, k.ends)
	}
	for _, r := range rs {
		m = append(m, b.contender(r.Slot), uint64(r.Hold), r.TTL.Milliseconds())
	}
	v, err := b.renewRequests.eval(ctx, b.cfg.KeyPrefix+rs[0].Name, renewScript, m)
	if err != nil {
		return nil, err
	}
	a, err := asReply(v)
	if err != nil || len(a) != len(rs) {
		return nil, fmt.Errorf("redis: %d answers to %d renewals: %w", len(a), len(rs), err)
	}
	errs := make([]error, len(rs))
	for i := range rs {
		if a.number(i) == 0 {
			errs[i] = backend.ErrNotHeld
		}
	}
	return errs, nil
}
