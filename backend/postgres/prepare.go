package postgres

import "context"

// meanwhile are the codes where another gateway has made at the same time what was to be made. The
// last one: tuple concurrently updated.
var meanwhile = []string{"23505", "42P06", "42P07", "42710", "40P01", "XX000"}

// create makes the schema, unless it is there, and those tables that are not, in one transaction.
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
		if len(r.Rows) == 1 && string(r.Rows[0][1]) == "t" {
			sql = lostSQL + sql
		}
		_, err := c.Exec(ctx, t.requests.of(sql)).ReadAll() // several statements, one transaction
		if is(err, meanwhile...) {
			return nil
		}
		return outcome(err)
	})
}
