package mysql

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/sqltable"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
)

// Rows that nobody uses go, and the fences of the next ones are above those of before, also
// if the clock was set back.
func TestSweep(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a := open(t, s.URL(), "a")
	sqltest.Sweep(t, a, a.sweep)
}

func TestSweepMany(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a := open(t, s.URL(), "a")
	sqltest.SweepMany(t, a, a.sweep, sqltable.SweepMost, func(name string, n int) { copies(t, s, name, n) })
}

func TestSweepKeepsQueue(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a := open(t, s.URL(), "a")
	sqltest.SweepKeepsQueue(t, a, a.sweep)
}

func TestSweepBesideSpoilt(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a := open(t, s.URL(), "a")
	sqltest.SweepBesideSpoilt(t, a, a.sweep, func(name string) {
		sql(t, s, fmt.Sprintf("UPDATE locks.lockgw_names SET record = JSON_SET(record, '$.top', 'x') WHERE name = '%s'", name))
	})
}

// copies makes n rows like that of name.
func copies(t *testing.T, s *mysqltest.Server, name string, n int) {
	t.Helper()
	const digits = "(SELECT 0 AS n UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)"
	sql(t, s, fmt.Sprintf(`INSERT INTO locks.lockgw_names
		SELECT CONCAT(r.name, '-', w.i), r.version, r.record, r.ends, r.busy, r.used FROM locks.lockgw_names AS r, (
			SELECT a.n * 1000 + b.n * 100 + c.n * 10 + d.n AS i FROM %[1]s AS a, %[1]s AS b, %[1]s AS c, %[1]s AS d
		) AS w WHERE r.name = '%[2]s' AND w.i BETWEEN 1 AND %[3]d`, digits, name, n))
}

// Rows that stay, as their first hold alone is over, are not in the way of those that go.
func TestSweepBehindManyThatStay(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a := open(t, s.URL(), "a")
	for _, n := range []*Table{a, open(t, s.URL(), "b")} {
		if _, err := sqltest.Step(t, n, "held", ledger.Op{Want: 1, Mode: backend.Shared}); err != nil {
			t.Fatal(err)
		}
	}
	copies(t, s, "held", sqltable.SweepMost)
	sql(t, s, "UPDATE locks.lockgw_names SET ends = INSERT(ends, 19, 16, '0000000000000001')")
	sqltest.Left(t, a, "left")
	if err := a.sweep(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if seen, err := a.Look(t.Context(), "left"); err != nil || seen.Version != "" {
		t.Errorf("the name that nobody uses is still there: %+v, %v", seen, err)
	}
	if seen, err := a.Look(t.Context(), "held-1"); err != nil || seen.Record.Firm("b") == nil {
		t.Errorf("the name that is held is %+v, %v", seen, err)
	}
}

// The statement that makes a row may have looked at the mark before a sweep has raised it, and
// come to write the row when that of before is gone.
func TestSweepWhileOneIsMade(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a := open(t, s.URL(), "a")
	high := sqltest.Left(t, a, "n")
	b := open(t, s.URL(), "b")
	sqltest.Held(t, b, "other")
	lock, err := connectFirst(t.Context(), a.hosts.hosts)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := lock.query(t.Context(), "SELECT GET_LOCK('slow', 0)"); err != nil {
		t.Fatal(err)
	}
	sql(t, s, "CREATE TRIGGER locks.slow BEFORE INSERT ON locks.lockgw_names FOR EACH ROW SET @slow = GET_LOCK('slow', 60)")
	made := sqltest.Makes(t, b, "n")
	for len(made) == 0 && len(sql(t, s, "SELECT 1 FROM information_schema.PROCESSLIST WHERE state = 'User lock'")) == 0 { // it need not wait
		sqltest.Pause(t, time.Millisecond)
	}
	if err := a.sweep(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := lock.query(t.Context(), "SELECT RELEASE_LOCK('slow')"); err != nil {
		t.Fatal(err)
	}
	sqltest.Above(t, b, "n", high, made)
}
