package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/redis/requests"
)

// renewTogether is how many leases one script renews at most, so that it holds up nobody
// for long.
const renewTogether = 100

// Renew implements ledger.Table. One script renews leases whose names share a slot, and
// the scripts run side by side: where some have no answer, their errors say so and those
// of the others count.
func (t *Table) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {
	groups := ledger.Groups(rs, renewTogether, func(r ledger.Renewal) int { return t.renewals.Slot(t.cfg.KeyPrefix + r.Name) })
	errs := make([]error, len(rs))
	var wg sync.WaitGroup
	for _, group := range groups {
		wg.Go(func() { t.prolong(ctx, rs, group, len(group) == 1 && t.cfg.FenceTTL == 0, errs) })
	}
	wg.Wait()
	answered := func(err error) bool { return err == nil || errors.Is(err, backend.ErrNotHeld) }
	if len(groups) == 1 && !slices.ContainsFunc(errs, answered) {
		return nil, errs[0]
	}
	return errs, nil
}

// prolong renews those of rs that group names, and the fence counters that are kept. While a
// cluster moves their slot, only those keys are together that are of one name and there, so
// each is renewed alone, without its counter.
func (t *Table) prolong(ctx context.Context, rs []ledger.Renewal, group []int, alone bool, errs []error) {
	counters := 0
	if t.cfg.FenceTTL > 0 && !alone {
		counters = len(group)
	}
	m := requests.NewMessage(2*len(group)+counters, 2*len(group))
	for _, i := range group {
		raw := t.cfg.KeyPrefix + rs[i].Name
		addKeys(m, raw)
	}
	for _, i := range group[:counters] {
		addCounter(m, t.cfg.KeyPrefix+rs[i].Name)
	}
	for _, i := range group {
		m.AddNumber(int64(rs[i].ID))
		m.AddNumber(rs[i].TTL.Milliseconds())
	}
	raw := t.cfg.KeyPrefix + rs[group[0]].Name
	eval := (*requests.Router).EvalThere
	if alone {
		eval = (*requests.Router).Eval
	}
	v, err := eval(t.renewing, ctx, raw, t.swaps.prolong, m)
	if errors.Is(err, conn.ErrTurnedAway) || conn.RefusedLogin(err) || ctx.Err() == nil && unheard(err) { // those for requests may have been made before
		v, err = eval(t.requests, ctx, raw, t.swaps.prolong, m)
	}
	if !alone && requests.Elsewhere(err) {
		_ = backend.Each(len(group), func(k int) error {
			t.prolong(ctx, rs, group[k:k+1], true, errs)
			return nil
		})
		return
	}
	a, err := t.answer(raw, v, err)
	if err == nil && len(a) != len(group) {
		err = fmt.Errorf("%w: %d answers to %d renewals", backend.ErrUnavailable, len(a), len(group))
	}
	for k, i := range group {
		switch {
		case err != nil:
			errs[i] = err
		case a.Number(k) == 0:
			errs[i] = backend.ErrNotHeld
		}
	}
}

// unheard: nobody has answered. A renewal may be carried out twice.
func unheard(err error) bool {
	return errors.Is(err, backend.ErrUnavailable) || errors.Is(err, backend.ErrUnreachable)
}
