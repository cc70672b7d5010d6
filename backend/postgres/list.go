package postgres

import (
	"context"
	"fmt"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

func (t *Table) list(ctx context.Context, prefix, after string, limit int) ([]sqltable.Row, error) {
	got, err := t.requests.send(ctx, newStatement(t.sql.list, prefix, prefix+"\U0010ffff", after, limit))
	if err != nil {
		return nil, t.noticed(err)
	}
	found := make([]sqltable.Row, len(got[0]))
	for i, row := range got[0] {
		r := reader(row)
		raw, a := r.Text(), answer{}
		a.read(r)
		if r.Err != nil {
			return nil, r.Err
		}
		found[i] = sqltable.Row{Raw: raw, Reply: func() (ledger.Reply, error) { return a.reply(raw) }}
	}
	return found, nil
}

func (t *Table) newest(ctx context.Context) (backend.Fence, error) {
	got, err := t.requests.send(ctx, newStatement(t.sql.newest))
	if err != nil {
		return 0, t.noticed(err)
	}
	if len(got[0]) != 1 {
		return 0, fmt.Errorf("%w: the table state has %d rows, and not one", backend.ErrRefused, len(got[0]))
	}
	r := reader(got[0][0])
	return backend.Fence(r.Number()), r.Err
}
