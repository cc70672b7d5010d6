package engine

import (
	"context"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// Prolong has what c holds last for ttl from now at least, and waits for the store to
// say so, but no longer than Config.Timeout. backend.ErrNotHeld: c holds nothing.
func (n *Name) Prolong(ctx context.Context, c *contender.Caller, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.e.cfg.Timeout)
	defer cancel()
	for {
		whole, err := n.prolong(ctx, c, ttl)
		if whole || err != nil {
			return err
		}
		if !backend.Wait(ctx, n.e.cfg.Retry) { // a write was under way beside it
			return backend.ErrUnavailable
		}
	}
}

// prolong asks once. whole: it counts for all of ttl.
func (n *Name) prolong(ctx context.Context, c *contender.Caller, ttl time.Duration) (whole bool, err error) {
	var r ledger.Renewal
	held := false
	n.apply(Direct, func(k *contender.Contender, now time.Duration) (f contender.Effects) {
		if r, held, f = k.Prolong(now, c, ttl); held {
			n.e.wg.Add(1)
		}
		return f
	}).Launch()
	if !held {
		return false, backend.ErrNotHeld
	}
	defer n.e.wg.Done()
	sentAt := n.e.cfg.Clock()
	err = backend.ErrDefect
	defer func() {
		n.apply(Direct, func(k *contender.Contender, now time.Duration) contender.Effects {
			n.renewed(r, now, sentAt, err)
			f := k.Prolonged(now, c, r, sentAt, err)
			if err == nil && (!c.Holds() || c.Kept) {
				err = backend.ErrNotHeld
			}
			whole = k.LeaseEnd(c) >= sentAt+ttl-n.e.cfg.Margin(ttl)
			return f
		}).Launch()
	}()
	r.Name = n.name
	errs, err := n.e.table.Renew(ctx, []ledger.Renewal{r})
	if err == nil {
		err = errs[0]
	}
	return whole, err
}
