package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
)

const (
	namesGroup  = "names used once"
	laterRow    = ", when all are forgotten"
	namesAtOnce = 32 // callers
)

// onceNames shows what is left of names that are used once: nothing that grows.
func onceNames(ctx context.Context, r *rig, p plan, t *table) error {
	for _, url := range r.urls() {
		if err := r.useNames(ctx, t, url, p); err != nil {
			return fmt.Errorf("%s: %w", scheme(url), err)
		}
	}
	return nil
}

func (r *rig) useNames(ctx context.Context, t *table, url string, p plan) error {
	g, err := r.another(ctx, url)
	if err != nil {
		return err
	}
	var used atomic.Int64
	c, err := connected(namesAtOnce, "unix", g.resp, func(int, *wire) (op, error) { return nil, nil })
	if err != nil {
		return err
	}
	defer func() { _ = c.close() }() // what was measured counts all the same
	var all []sizes
	for _, until := range []int{0, p.names / 2, p.names} {
		if until > 0 {
			c.ops = c.ops[:0]
			for _, w := range c.wires {
				c.ops = append(c.ops, func() error { return w.useOnce(ctx, &used, int64(until)) })
			}
			if _, err := load(c, 0); err != nil {
				return err
			}
		}
		s, err := r.sizes(ctx, g)
		if err != nil {
			return err
		}
		all = append(all, s)
		when := map[int]string{0: "before", p.names: "at the end"}[until]
		if when == "" {
			when = "in the middle"
		}
		t.note(namesGroup, scheme(url)+", "+when, until, 0, "%s", s)
	}
	if err := pause(ctx, p.settle); err != nil {
		return err
	}
	s, err := r.sizes(ctx, g)
	if err != nil {
		return err
	}
	t.note(namesGroup, scheme(url)+laterRow, p.names, float64(all[2].gateway)/float64(all[1].gateway), "%v later: %s", p.settle, s)
	return r.stopGateway(g)
}

// useOnce locks and unlocks names that nobody else uses, until so many were used by all.
func (w *wire) useOnce(ctx context.Context, used *atomic.Int64, until int64) error {
	for ctx.Err() == nil {
		n := used.Add(1)
		if n > until {
			used.Add(-1)
			return nil
		}
		lock, unlock := lockAndUnlock("once" + strconv.FormatInt(n, 10))
		if err := w.ask(lock); err != nil {
			return err
		}
		if err := w.ask(unlock); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (s sizes) String() string {
	return fmt.Sprintf("gateway %.1f MiB, journal %.1f MiB, history %.1f MiB; Redis %.1f MiB, %d keys",
		mib(s.gateway), mib(s.journal), mib(s.history), mib(s.redis), s.keys)
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }
