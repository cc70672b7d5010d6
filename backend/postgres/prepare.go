package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// prepare makes the tables if they are not there, finds out whether the server is trusted,
// and tries its compare-and-set. An error is an ErrRefused: nothing was asked for.
func (t *Table) prepare(ctx context.Context) error {
	if err := t.listener.Began(ctx); err != nil {
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
	w, err := u.t.write(s, "")
	if err != nil {
		return ledger.Reply{}, err
	}
	r, _, err := u.t.swap(ctx, w)
	return r, err
}

// migrations bounds how often the tables are tried to be made, while others do the same.
const migrations = 5

// migrate makes the tables. They may be there already: then the user needs no right to make
// any.
func (t *Table) migrate(ctx context.Context) (err error) {
	for range migrations {
		there, err := t.layout(ctx)
		if err != nil || there {
			return err
		}
		err = t.create(ctx)
		var server *pgconn.PgError
		if err != nil && (!errors.As(err, &server) || !meanwhile(server.Code)) {
			return err
		}
	}
	return fmt.Errorf("%w: the tables of lockgw cannot be made, for others change them all the time", backend.ErrRefused)
}

// meanwhile: another gateway has made at the same time what was to be made.
func meanwhile(code string) bool {
	switch code {
	case "23505", "42P06", "42P07", "42710", "40P01", "XX000": // the last one: tuple concurrently updated
		return true
	}
	return false
}

// layout says whether the tables are there.
func (t *Table) layout(ctx context.Context) (there bool, err error) {
	got, err := t.requests.send(ctx, newStatement(t.sql.layout))
	var server *pgconn.PgError
	switch {
	case errors.As(err, &server) && (server.Code == "42P01" || server.Code == "3F000"):
		return false, nil
	case err != nil:
		return false, err
	case len(got[0]) == 0:
		return false, nil
	}
	r := reader{row: got[0][0]}
	version, _ := r.number()
	if version > layout {
		return false, fmt.Errorf("%w: the tables in the schema %s have layout %d, and this lockgw knows %d: it is older than the one that made them", backend.ErrRefused, t.schema, version, layout)
	}
	return true, r.err
}

// create makes the schema, unless it is there, and the tables, in one transaction.
func (t *Table) create(ctx context.Context) error {
	return t.requests.With(ctx, func(c *conn) error {
		r := c.ExecParams(ctx, t.sql.exists, [][]byte{encode(t.schema)}, nil, nil, nil).Read()
		if r.Err != nil {
			return outcome(r.Err)
		}
		sql := t.sql.ddl
		if len(r.Rows) == 1 && string(r.Rows[0][0]) != "t" { // who lacks the right to make schemas may not even ask for one that is there
			sql = t.sql.schema + sql
		}
		_, err := c.Exec(ctx, sql).ReadAll() // several statements, one transaction
		return outcome(err)
	})
}
