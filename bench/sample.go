package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// op is what a caller does again and again: a round trip, or a lock and unlock.
type op func() error

// crew is callers that are ready to begin.
type crew struct {
	ops   []op
	once  func() (sample, error) // measured instead of ops
	close func() error

	wires []*wire      // of callers that have a connection each
	letGo func() error // gives back what the callers wait for
}

// contestant is what is measured in one row.
type contestant struct {
	name  string
	trips float64 // round trips of the limit that one op stands for
	open  func(n int) (crew, error)
}

// sample is what one slice has shown.
type sample struct {
	ops      int
	rate     float64 // ops per second, of all callers
	p50, p99 time.Duration
}

// contest is a group of rows that are measured in turn.
type contest struct {
	group  string
	n      int // callers
	rounds int
	once   func(crew) (sample, error)
	all    []contestant // the first is the limit
	plain  string       // the one that does without a gateway
}

// hold measures the contest and adds its rows to t.
func (c contest) hold(ctx context.Context, r *rig, t *table) error {
	fmt.Fprintf(os.Stderr, "measuring: %s, %d callers\n", c.group, c.n)
	rows := make([]*row, len(c.all))
	crews := make([]crew, len(c.all))
	defer func() {
		for _, crew := range crews {
			if crew.close != nil {
				_ = crew.close() // what it had to say is in the samples
			}
		}
	}()
	for i, a := range c.all {
		var err error
		rows[i] = &row{group: c.group, name: a.name, callers: c.n, trips: a.trips}
		if crews[i], err = a.open(c.n); err == nil {
			_, err = c.measure(crews[i]) // warms up
		}
		if err != nil {
			return fmt.Errorf("%s: %s, %d callers: %w", c.group, a.name, c.n, err)
		}
	}
	for round := range c.rounds {
		for k := range c.all {
			i := (k + round) % len(c.all) // nobody always follows the same one
			if err := ctx.Err(); err != nil {
				return err
			}
			s, err := rows[i].count(ctx, r, func() (sample, error) { return c.measure(crews[i]) })
			if err != nil {
				return fmt.Errorf("%s: %s, %d callers: %w", c.group, c.all[i].name, c.n, err)
			}
			rows[i].samples = append(rows[i].samples, s)
		}
	}
	t.add(rows, c.plain)
	return nil
}

func (c contest) measure(w crew) (sample, error) {
	if w.once != nil {
		return w.once()
	}
	return c.once(w)
}

// count adds to w what the servers did in f.
func (w *row) count(ctx context.Context, r *rig, f func() (sample, error)) (sample, error) {
	before, err := r.work(ctx)
	if err != nil {
		return sample{}, err
	}
	s, err := f()
	if err != nil {
		return s, err
	}
	after, err := r.work(ctx)
	w.work = w.work.add(after).subtract(before)
	w.ops += float64(s.ops)
	return s, err
}

// loadFor has all of a crew work for d.
func loadFor(d time.Duration) func(crew) (sample, error) {
	return func(c crew) (sample, error) { return load(c, d) }
}

// load has all of a crew work for d, or do one thing each if d is 0.
func load(c crew, d time.Duration) (sample, error) {
	times := make([][]time.Duration, len(c.ops))
	errs := make([]error, len(c.ops))
	begin := make(chan struct{})
	var began time.Time
	var wg sync.WaitGroup
	for i, do := range c.ops {
		wg.Go(func() {
			<-begin
			times[i], errs[i] = repeat(do, began, began.Add(d))
		})
	}
	began = time.Now()
	close(begin)
	wg.Wait()
	return sampleOf(slices.Concat(times...), time.Since(began), errors.Join(errs...))
}

// sampleOf things that took so long each, and together.
func sampleOf(times []time.Duration, together time.Duration, err error) (sample, error) {
	if err != nil || len(times) == 0 {
		return sample{}, fmt.Errorf("%d done: %w", len(times), err)
	}
	slices.Sort(times)
	return sample{
		ops: len(times), rate: float64(len(times)) / together.Seconds(),
		p50: quantile(times, 0.5), p99: quantile(times, 0.99),
	}, nil
}

// repeat does one thing until it is time to stop, and at least once.
func repeat(do op, now, until time.Time) (times []time.Duration, err error) {
	for {
		if err := do(); err != nil {
			return times, err
		}
		end := time.Now()
		times = append(times, end.Sub(now))
		if now = end; !now.Before(until) {
			return times, nil
		}
	}
}

// quantile of what is sorted and not empty.
func quantile[T any](sorted []T, q float64) T { return sorted[int(q*float64(len(sorted)-1))] }

func median[T interface{ ~int64 | ~float64 }](v []T) T {
	v = slices.Clone(v)
	slices.Sort(v)
	return quantile(v, 0.5)
}
