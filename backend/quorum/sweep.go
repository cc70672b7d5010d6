package quorum

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/lockgw/lockgw/backend"
)

const (
	// SweepAfter is how long a record stays that nobody uses.
	SweepAfter = time.Minute
	sweepEvery = 10 * time.Second
	scanEvery  = 20 * time.Minute
)

// Sweep has what nobody uses deleted until life ends: sweep what this node has left, and scan,
// now and then, looks for what others have that are not there any more. What either cannot do
// the next one does.
func Sweep(life context.Context, sweep, scan func(context.Context) error) {
	next := now() + rand.N(scanEvery)/10
	for backend.Wait(life, sweepEvery) {
		if now() > next {
			next = now() + scanEvery/2 + rand.N(scanEvery)
			within(life, scanEvery/2, scan)
		}
		within(life, sweepEvery, sweep)
	}
}

func within(life context.Context, d time.Duration, f func(context.Context) error) {
	ctx, cancel := context.WithTimeout(life, d)
	defer cancel()
	_ = f(ctx)
}

// Over: all holds of r are over, which never come back: a lease or session that has ended is never
// used again; and no node in the queue listens. One that was away looks again when it is back, and
// finds that the name is free. left is how long a hold lasts.
func (r *Row) Over(left func(End) (time.Duration, error), listens func(node string) (bool, error)) (bool, error) {
	for _, h := range r.Record.Holds {
		e, ok := r.Ends.Find(h.ID)
		if !ok {
			continue
		}
		if d, err := left(e); err != nil || d > 0 {
			return false, err
		}
	}
	for _, e := range r.Record.Queue {
		if does, err := listens(e.Node); err != nil || does {
			return false, err
		}
	}
	return true, nil
}
