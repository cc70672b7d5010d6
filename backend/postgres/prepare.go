package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgconn"

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
	if err := t.listener.began(ctx); err != nil {
		return err
	}
	return t.prepareFirst(ctx)
}

// prepareFirst is prepare for the listener itself.
func (t *Table) prepareFirst(ctx context.Context) error {
	if t.prepared.done.Load() {
		return nil
	}
	select {
	case t.prepared.busy <- struct{}{}:
		defer func() { <-t.prepared.busy }()
	case <-ctx.Done():
		return fmt.Errorf("%w: PostgreSQL has not said yet who it is", backend.ErrRefused)
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
	c, err := t.requests.acquire(ctx)
	if err != nil {
		return err
	}
	defer t.requests.release(c)
	r := c.ExecParams(ctx, t.sql.exists, [][]byte{encode(t.schema)}, nil, nil, nil).Read()
	if r.Err != nil {
		return outcome(r.Err)
	}
	sql := t.sql.ddl
	if len(r.Rows) == 1 && string(r.Rows[0][0]) != "t" { // who lacks the right to make schemas may not even ask for one that is there
		sql = t.sql.schema + sql
	}
	_, err = c.Exec(ctx, sql).ReadAll() // several statements, one transaction
	return outcome(err)
}
