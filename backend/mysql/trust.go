package mysql

import (
	"context"
	"crypto/rand"

	"github.com/lockgw/lockgw/backend/sqltable"
)

// ask is that of sqltable.Database.
//
// The table lockgw_state names one run, with an id: which server, and when it was started, in
// seconds. A grant looks whether the row has that id, in the same step, and goes over a
// connection that was made to that run: it cannot outlive it.
//
//   - A server that was restarted names another time. So an orderly restart counts, too: a copy
//     from an earlier day may have been put in the place of what was there.
//   - A machine whose clock stands still while it is off may start its server in the same second
//     again. A gateway that was there before notices: the server counts the statements of all
//     its clients, from 1 on in each run.
//   - A server that has taken over from another one has another identity, and so does another database
//     of the same server, which may have been made of a dump.
//   - The gateway remembers the id. So an empty database, or one from a dump, is no new one.
//   - The gateway counts in the database how often it was there, and a grant looks for that, too. So
//     a dump is seen that was read in again, or a machine that was put back to an earlier state while
//     it ran.
//
// A row in a table with ENGINE=MEMORY would tell runs apart for everybody. But group replication
// takes no such tables, and elsewhere each replica empties its own by a transaction of its own.
func (t *Table) ask(ctx context.Context, judge func(sqltable.Seen) sqltable.Change) error {
	return t.noticed(t.requests.with(ctx, func(c *conn) error {
		before := t.count.Load()
		s, of, counted, err := t.seen(ctx, c)
		if err != nil {
			return err
		}
		t.counted(before, s.Server, counted)
		switch change := judge(s); change.Kind {
		case sqltable.Anew:
			_, _, err = c.exec(ctx, trustAnewSQL, []byte(rand.Text()), []byte(s.Server), change.Wait.Microseconds(), change.Fresh, []byte(s.ID), []byte(of))
		case sqltable.Doubt:
			_, _, err = c.exec(ctx, suspectSQL, change.Wait.Microseconds(), []byte(s.ID))
		}
		return err
	}))
}

// putBack: the sign of life far of the node, which the database has had, is lost.
func (t *Table) putBack(ctx context.Context, far int64) (bool, error) {
	rows, err := t.rows(ctx, beatsSQL, []byte(t.Node()))
	if err != nil || len(rows) == 0 {
		return true, err
	}
	r := sqltable.NewReader(rows[0])
	return r.Number() < far, r.Err
}

// scout is that of sqltable.Database.
func (t *Table) scout(ctx context.Context) (string, error) {
	c, err := t.connect(ctx)
	if err != nil {
		return "", err
	}
	return c.server.identity, c.Close()
}

// seen is what the server at c tells, the server of the run that is trusted, and how many
// statements there were.
func (t *Table) seen(ctx context.Context, c *conn) (s sqltable.Seen, of string, counted int64, err error) {
	got, err := c.query(ctx, trustSQL, []byte(t.Node()))
	if err != nil {
		return s, "", 0, err
	}
	r, err := sqltable.One(got[0], nil)
	if err != nil {
		return s, "", 0, err
	}
	s.ID, of = r.Text(), r.Text()
	s.Fresh, s.Left, s.Far = r.Is(), sqltable.Duration(r.Number()), r.Number()
	s.Server, s.Used = c.server.identity, s.ID != ""
	s.Same = s.Used && of == s.Server
	counted = r.Number()
	t.sleeper.signs.raise(s.Far)
	return s, of, counted, r.Err
}

// count is how many statements a server has counted in a run.
type count struct {
	identity string
	n        int64
}

// counted notes that a server has counted n. before is what was known when it was asked: where
// that was not less, the server has begun anew.
func (t *Table) counted(before *count, identity string, n int64) {
	if n == 0 { // it does not tell
		return
	}
	again := before != nil && before.identity == identity
	if again && n <= before.n {
		t.Runs.Doubtful()
	}
	for {
		is := t.count.Load()
		if is != before && is != nil && is.identity == identity && is.n >= n || t.count.CompareAndSwap(is, &count{identity, n}) {
			return
		}
	}
}
