package limits

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/figures"
	"github.com/lockgw/lockgw/bench/rig"
)

const (
	namesGroup  = "names used once"
	laterRow    = ", when all are forgotten"
	namesAtOnce = 32 // callers
)

// onceNames shows what is left of names that are used once: nothing that grows.
func onceNames(ctx context.Context, r *rig.Rig, p rig.Plan, t *figures.Table) error {
	for _, url := range r.URLs() {
		if err := useNames(ctx, r, t, url, p); err != nil {
			return fmt.Errorf("%s: %w", rig.Scheme(url), err)
		}
	}
	return nil
}

func useNames(ctx context.Context, r *rig.Rig, t *figures.Table, url string, p rig.Plan) error {
	g, err := r.Another(ctx, url)
	if err != nil {
		return err
	}
	var used atomic.Int64
	c, err := callers.Connected(namesAtOnce, "unix", g.RESP, func(int, *callers.Wire) (callers.Op, error) { return nil, nil })
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // what was measured counts all the same
	var all []rig.Sizes
	for _, until := range []int{0, p.Names / 2, p.Names} {
		if until > 0 {
			c.Ops = c.Ops[:0]
			for _, w := range c.Wires {
				c.Ops = append(c.Ops, func() error { return useOnce(ctx, w, &used, int64(until)) })
			}
			if _, err := callers.Load(c, 0); err != nil {
				return err
			}
		}
		s, err := r.Sizes(ctx, g)
		if err != nil {
			return err
		}
		all = append(all, s)
		when := map[int]string{0: "before", p.Names: "at the end"}[until]
		if when == "" {
			when = "in the middle"
		}
		t.Note(namesGroup, rig.Scheme(url)+", "+when, until, 0, "%s", s)
	}
	if err := rig.Pause(ctx, p.Settle); err != nil {
		return err
	}
	s, err := r.Sizes(ctx, g)
	if err != nil {
		return err
	}
	t.Note(namesGroup, rig.Scheme(url)+laterRow, p.Names, float64(all[2].Gateway)/float64(all[1].Gateway), "%v later: %s", p.Settle, s)
	return r.StopGateway(g)
}

// useOnce locks and unlocks names that nobody else uses, until so many were used by all.
func useOnce(ctx context.Context, w *callers.Wire, used *atomic.Int64, until int64) error {
	for ctx.Err() == nil {
		n := used.Add(1)
		if n > until {
			used.Add(-1)
			return nil
		}
		lock, unlock := callers.LockAndUnlock("once" + strconv.FormatInt(n, 10))
		if err := w.Ask(lock); err != nil {
			return err
		}
		if err := w.Ask(unlock); err != nil {
			return err
		}
	}
	return ctx.Err()
}
