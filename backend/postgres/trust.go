package postgres

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/lockgw/lockgw/backend/sqltable"
)

// ask is that of sqltable.Database.
//
// The table run has one row, with an id. The statement that grants looks whether it is
// there, in the same step, whatever connection it came by:
//
//   - The table is unlogged. So it is empty when PostgreSQL has recovered from a crash, was a
//     standby before, or was restored from a copy that was taken while it ran.
//   - The row names when the server was started. So an orderly restart counts, too: a copy
//     from an earlier day may have been put in the place of what was there.
//   - The row names the table that it is in. So a dump that was read in is none.
//   - The id names the database. So one that was made with another one as its TEMPLATE is none.
//   - The table state names the id, too, and is not unlogged. So another server whose tables are
//     written here by logical replication has its run named there, and this one is trusted no more.
//   - The gateway remembers the id. So an empty database is no new one.
//   - The gateway compares where the write-ahead log ends. So a machine that was put back to
//     an earlier state while it ran is seen when it is connected to again.
//
// The system identifier and the timeline change only together with one of these.
func (t *Table) ask(ctx context.Context, judge func(sqltable.Seen) sqltable.Change) error {
	s, err := t.seen(ctx)
	if err != nil {
		return err
	}
	switch c := judge(s); c.Kind {
	case sqltable.Anew:
		return t.noticed(t.requests.do(ctx, trustAnewSQL, rand.Text(), c.Wait.Seconds(), c.Fresh, s.ID))
	case sqltable.Doubt:
		return t.noticed(t.requests.do(ctx, suspectSQL, s.ID, c.Wait.Seconds()))
	}
	return nil
}

func (t *Table) seen(ctx context.Context) (s sqltable.Seen, err error) {
	r, err := sqltable.One(t.rows(ctx, trustSQL))
	if err != nil {
		return s, err
	}
	s = sqltable.Seen{ID: r.Text(), Same: r.Is(), Fresh: r.Is(), Left: time.Duration(r.Float() * float64(time.Second)), Used: r.Text() != ""}
	s.Far, s.Server = r.Number(), r.Text()
	return s, r.Err
}

// scout is that of sqltable.Database.
func (t *Table) scout(ctx context.Context) (string, error) {
	c, err := t.requests.connect(ctx)
	if err != nil {
		return "", err
	}
	defer c.end()
	got := c.ExecParams(ctx, "SELECT "+serverSQL, nil, nil, nil, nil).Read()
	r, err := sqltable.One(got.Rows, got.Err)
	if err != nil {
		return "", outcome(err)
	}
	return r.Text(), r.Err
}
