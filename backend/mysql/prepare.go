package mysql

import (
	"context"
	"fmt"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// prepare makes the tables if they are not there, finds out whether the server is trusted,
// and tries its compare-and-set. An error is an ErrRefused: nothing was asked for.
func (t *Table) prepare(ctx context.Context) error {
	if err := t.sleeper.Began(ctx); err != nil {
		return err
	}
	return t.prepared.Do(ctx)
}

func (t *Table) preparation() *sqltable.Preparation {
	return sqltable.NewPreparation(sqltable.Steps{
		Product: product, Migrate: t.migrate, Decide: t.decide, Runs: t.runs, Table: untried{t}, Node: t.cfg.Node.ID,
	})
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
