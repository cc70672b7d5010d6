package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// meanwhile: another gateway has made at the same time what was to be made.
func meanwhile(code string) bool {
	switch code {
	case "23505", "42P06", "42P07", "42710", "40P01", "XX000": // the last one: tuple concurrently updated
		return true
	}
	return false
}

func (t *Table) layout(ctx context.Context) (int64, error) {
	rows, err := t.rows(ctx, layoutSQL)
	var server *pgconn.PgError
	switch {
	case errors.As(err, &server) && (server.Code == "42P01" || server.Code == "3F000"):
		return 0, nil
	case err != nil || len(rows) == 0:
		return 0, err
	}
	return rows[0].Number(), rows[0].Err
}

// create makes the schema, unless it is there, and the tables, in one transaction.
func (t *Table) create(ctx context.Context) error {
	return t.requests.With(ctx, func(c *conn) error {
		r := c.ExecParams(ctx, t.requests.of(existsSQL), nil, nil, nil, nil).Read()
		if r.Err != nil {
			return outcome(r.Err)
		}
		sql := ddl
		if len(r.Rows) == 1 && string(r.Rows[0][0]) != "t" { // who lacks the right to make schemas may not even ask for one that is there
			sql = schemaSQL + sql
		}
		_, err := c.Exec(ctx, t.requests.of(sql)).ReadAll() // several statements, one transaction
		var server *pgconn.PgError
		if errors.As(err, &server) && meanwhile(server.Code) {
			return nil
		}
		return outcome(err)
	})
}
