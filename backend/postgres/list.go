package postgres

import (
	"context"
	"fmt"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// List implements ledger.Table. The cursor is the last name told.
func (t *Table) List(ctx context.Context, prefix, cursor string, limit int) ([]ledger.Named, string, error) {
	if err := t.prepare(ctx); err != nil {
		return nil, "", err
	}
	raw := t.cfg.KeyPrefix + prefix
	got, err := t.requests.send(ctx, newStatement(t.sql.list, raw, raw+"\U0010ffff", cursor, limit))
	if err != nil {
		return nil, "", t.noticed(err)
	}
	var found []ledger.Named
	last := ""
	for _, row := range got[0] {
		r := reader{row: row}
		last = r.text()
		a := r.there()
		if r.err != nil {
			return nil, "", r.err
		}
		name := last[len(t.cfg.KeyPrefix):]
		if sqltable.Hidden(name) {
			continue
		}
		reply, err := a.reply(last)
		if err != nil {
			return nil, "", err
		}
		found = append(found, ledger.Named{Name: name, Reply: reply})
	}
	if len(got[0]) < limit {
		last = ""
	}
	return found, last, nil
}

// Newest implements floor.Keeper.
func (t *Table) Newest(ctx context.Context) (backend.Fence, error) {
	if err := t.prepare(ctx); err != nil {
		return 0, err
	}
	got, err := t.requests.send(ctx, newStatement(t.sql.newest))
	if err != nil {
		return 0, t.noticed(err)
	}
	if len(got[0]) != 1 {
		return 0, fmt.Errorf("%w: the table state has %d rows, and not one", backend.ErrRefused, len(got[0]))
	}
	r := reader{row: got[0][0]}
	newest, _ := r.number()
	return backend.Fence(newest), r.err
}
