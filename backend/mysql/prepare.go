package mysql

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/selftest"
)

// preparation is what comes before the first request, and before the next one where a
// connection for messages had to be made anew: it may be another server.
type preparation struct {
	done   atomic.Bool
	busy   chan struct{} // one at a time
	tested string        // the run of the server that has passed the test; only who is busy uses it
}

// prepare makes the tables if they are not there, finds out whether the server is trusted,
// and tries its compare-and-set. An error is an ErrRefused: nothing was asked for.
func (t *Table) prepare(ctx context.Context) error {
	// What is asked for before the node listens may lead to a message that it does not hear.
	if err := t.sleeper.began(ctx); err != nil {
		return err
	}
	return t.prepareFirst(ctx)
}

// prepareFirst is prepare for the sleeper itself.
func (t *Table) prepareFirst(ctx context.Context) error {
	if t.prepared.done.Load() {
		return nil
	}
	select {
	case t.prepared.busy <- struct{}{}:
		defer func() { <-t.prepared.busy }()
	case <-ctx.Done():
		return fmt.Errorf("%w: MySQL has not said yet who it is", backend.ErrRefused)
	}
	if t.prepared.done.Load() {
		return nil
	}
	if err := t.prepareNow(ctx); err != nil {
		if errors.Is(err, backend.ErrRefused) {
			return err
		}
		return fmt.Errorf("%w: the tables could not be looked at: %s", backend.ErrRefused, err.Error())
	}
	t.prepared.done.Store(true)
	return nil
}

func (t *Table) prepareNow(ctx context.Context) error {
	if err := t.migrate(ctx); err != nil {
		return err
	}
	if err := t.trust.decide(ctx); err != nil && !quarantined(err) {
		return err
	}
	if run := t.trust.run(); run == "" || run != t.prepared.tested {
		if err := selftest.Run(ctx, untried{t}, t.cfg.Node.ID); err != nil {
			return err
		}
		t.prepared.tested = run
	}
	return nil
}

// untried is the Table for its own test.
type untried struct{ t *Table }

func (u untried) Look(ctx context.Context, name string) (ledger.Reply, error) {
	return u.t.look(ctx, u.t.cfg.KeyPrefix+name)
}

func (u untried) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	w, err := u.t.write(s, trusted{})
	if err != nil {
		return ledger.Reply{}, err
	}
	r, _, err := u.t.swap(ctx, w)
	return r, err
}

// migrate makes the tables. They may be there already: then the user needs no right to make
// any. Others may do the same meanwhile: each statement does nothing if it was done.
func (t *Table) migrate(ctx context.Context) error {
	there, err := t.layout(ctx)
	if err != nil || there {
		return err
	}
	for _, sql := range ddl {
		for try := 1; ; try++ {
			if err = t.requests.do(ctx, sql); !raced(err) || try == racesMost {
				break
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// layout says whether the tables are there: the row of the last one made.
func (t *Table) layout(ctx context.Context) (there bool, err error) {
	got, err := t.requests.query(ctx, layoutSQL)
	switch {
	case is(err, 1146):
		return false, nil
	case err != nil:
		return false, err
	case len(got[0]) == 0:
		return false, nil
	}
	r := reader{row: got[0][0]}
	if version := r.number(); version > layout {
		return false, fmt.Errorf("%w: the tables have layout %d, and this lockgw knows %d: it is older than the one that made them", backend.ErrRefused, version, layout)
	}
	return true, r.err
}
