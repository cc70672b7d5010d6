package sqltable

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/selftest"
)

// Preparation is what comes before the first request, and before the next one where a
// connection for messages had to be made anew: it may be another server.
type Preparation struct {
	steps  Steps
	done   atomic.Bool
	busy   chan struct{} // one at a time
	tested string        // the run of the server that has passed the test; only who is busy uses it
}

// Steps of a Preparation, in their order.
type Steps struct {
	Product string                      // for people, such as PostgreSQL
	Migrate func(context.Context) error // makes the tables, if they are not there
	Decide  func(context.Context) error // finds out whether the server is trusted
	Runs    *Runs                       // in which that is noted
	Table   selftest.Store              // whose compare-and-set is tried
	Node    string                      // that tries it
}

// NewPreparation has nothing done yet.
func NewPreparation(s Steps) *Preparation {
	return &Preparation{steps: s, busy: make(chan struct{}, 1)}
}

// Again has the next request begin with it.
func (p *Preparation) Again() { p.done.Store(false) }

// Do does what was not done yet, or waits for who does it. An error is a backend.ErrRefused:
// nothing was asked for.
func (p *Preparation) Do(ctx context.Context) error {
	if p.done.Load() {
		return nil
	}
	select {
	case p.busy <- struct{}{}:
		defer func() { <-p.busy }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %s has not said yet who it is", backend.ErrRefused, p.steps.Product)
	}
	if p.done.Load() {
		return nil
	}
	if err := p.now(ctx); err != nil {
		if errors.Is(err, backend.ErrRefused) {
			return err
		}
		return fmt.Errorf("%w: the tables could not be looked at: %s", backend.ErrRefused, err.Error())
	}
	p.done.Store(true)
	return nil
}

func (p *Preparation) now(ctx context.Context) error {
	if err := p.steps.Migrate(ctx); err != nil {
		return err
	}
	if err := p.steps.Decide(ctx); err != nil && !quarantined(err) {
		return err
	}
	if run, _ := p.steps.Runs.Present(); run == "" || run != p.tested {
		if err := selftest.Run(ctx, p.steps.Table, p.steps.Node); err != nil {
			return err
		}
		p.tested = run
	}
	return nil
}
