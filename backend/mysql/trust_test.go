package mysql

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/sqltable"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
	"github.com/lockgw/lockgw/backend/tabletest"
)

func guarded(c *Config) { c.Guard, c.Lease = sqltable.GuardQuarantine, sqltest.Lease }

func TestQuarantine(t *testing.T) { sqltest.Quarantine(t, store) }

func TestQuarantineOfAnEmptiedDatabase(t *testing.T) {
	sqltest.QuarantineOfAnEmptied(t, store, "DROP DATABASE locks", "CREATE DATABASE locks")
}

func TestOneTableLost(t *testing.T) {
	sqltest.OneTableLost(t, store, "locks.lockgw_names", "locks.lockgw_nodes", "locks.lockgw_mail")
}

func TestStateEmptied(t *testing.T) { sqltest.StateEmptied(t, store, "locks.lockgw_state") }

func TestRenewsWhereNoConnectionCanBeMade(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	r := tabletest.NewRelay(t, s.Addr)
	sqltest.RenewsOverOthers(t, open(t, strings.Replace(s.URL(), s.Addr, r.Addr, 1), "a"), r.Shut)
}

// The password was changed, and the gateway does not know yet.
func TestRenewsWhereNobodyIsLetIn(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	sql(t, s, "CREATE USER app@'%' IDENTIFIED BY 'x'", "GRANT ALL ON locks.* TO app@'%'")
	a := open(t, s.At("app:x", "locks"), "a")
	sqltest.RenewsOverOthers(t, a, func() { sql(t, s, "ALTER USER app@'%' IDENTIFIED BY 'y'") })
}

func TestFollows(t *testing.T) {
	sqltest.Follows(t, store, func(t *testing.T, to string) (string, func(string)) {
		r := tabletest.NewRelay(t, to)
		return r.Addr, r.Lead
	})
}

func TestNoQuarantine(t *testing.T) { sqltest.NoQuarantine(t, store) }

// Whoever takes over from a server may not have heard of the last grants; and a replica takes
// no locks.
func TestFailover(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t, mysqltest.Replicates(1)...)
	table := open(t, s.URL(), "a", guarded)
	lives := sqltest.Held(t, table, "n")
	replica := mysqltest.Start(t, mysqltest.Replicates(2)...)
	sql(t, replica, mysqltest.Follow(s)...)
	sql(t, replica, "SET GLOBAL read_only = 1")
	alone := open(t, replica.URL(), "b", guarded)
	if err := alone.Ping(t.Context()); !errors.Is(err, backend.ErrRefused) || !contains(err, "replica or read-only") {
		t.Errorf("a replica: %v", err)
	}
	both := open(t, strings.Replace(s.URL(), s.Addr, replica.Addr+","+s.Addr, 1), "a", guarded)
	sqltest.Held(t, both, "both")
	for _, arrived := range []string{ // the table, and what is in it
		"SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'locks' AND TABLE_NAME = 'lockgw_mail'",
		"SELECT 1 FROM locks.lockgw_names WHERE name = 'both'",
	} {
		for end := time.Now().Add(time.Minute); len(sql(t, replica, arrived)) == 0; sqltest.Pause(t, 10*time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("nothing is replicated: %v", sql(t, replica, mysqltest.Follows()))
			}
		}
	}
	s.Kill()
	sql(t, replica, mysqltest.Unfollow()...)
	sql(t, replica, "SET GLOBAL read_only = 0")
	sqltest.Refuses(t, both, lives)
}

// A server that was started twice in the same second names the same run. Its count of statements
// begins anew.
func TestQuarantineInTheSameSecond(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a := open(t, s.URL(), "a", guarded)
	lives := sqltest.Held(t, a, "n")
	before := *a.count.Load()
	if err := a.Decide(t.Context()); err != nil {
		t.Fatalf("a server that goes on is not trusted: %v", err)
	}
	if now := *a.count.Load(); now.n <= before.n || now.identity != before.identity {
		t.Errorf("the server has counted %+v, and then %+v", before, now)
	}
	a.count.Store(&count{before.identity, 1 << 40}) // of a run that was long
	a.Reset()
	sqltest.Refuses(t, a, lives)
}

// So it is for who learns of that only by what it asks the server: whether that is trusted, or a
// grant on what it remembers.
func TestQuarantineFromTheFirstRequest(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	for name, asks := range map[string]func(*Table) error{
		"whether it is trusted": func(a *Table) error { return a.Decide(t.Context()) },
		"a grant": func(a *Table) error {
			next, effects := ledger.Step(ledger.Record{}, ledger.Op{Node: "a", Want: 1, Turns: 1, TTL: time.Minute}, 0)
			r, err := a.Swap(t.Context(), ledger.Swap{Name: "n", Record: next, Effects: effects})
			if err == nil && !r.Written {
				t.Errorf("it is refused for another reason: %+v", r)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			sql(t, s, "DROP DATABASE locks", "CREATE DATABASE locks")
			a := open(t, s.URL(), "a", guarded)
			sqltest.Held(t, a, "m")
			a.count.Store(&count{a.count.Load().identity, 1 << 40}) // of a run that was long
			a.Reset()
			if err := asks(a); !errors.As(err, new(*backend.Later)) {
				t.Errorf("a server that begins anew is trusted: %v", err)
			}
		})
	}
}

// What names a run stays, whatever clients do.
func TestRunHasOneName(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a := open(t, s.URL(), "a", guarded)
	names := map[string]bool{}
	for n := range 12 {
		if n == 6 { // numbers of which an earlier version took the time of the start
			sql(t, s, "DO BENCHMARK(17000000, UUID_SHORT())", "FLUSH STATUS")
		}
		a.Reset()
		sqltest.Held(t, a, "n")
		names[a.count.Load().identity] = true
		sqltest.Pause(t, 100*time.Millisecond)
	}
	if len(names) != 1 || a.Runs.Refusing() != "" {
		t.Errorf("a run has the names %v; refusing: %q", names, a.Runs.Refusing())
	}
}

// A machine that was put back to an earlier state while it ran has the same server on it, that
// was started at the same time.
func TestQuarantineAfterPutBack(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a, _ := listening(t, s.URL(), "a", guarded)
	sqltest.Until(t, a, "")
	lives := sqltest.Held(t, a, "n")
	began := time.Now()
	sql(t, s, "UPDATE locks.lockgw_nodes SET beats = 0")
	if err := a.Decide(t.Context()); !errors.As(err, new(*backend.Later)) {
		t.Fatalf("it was put back, and nobody has noticed: %v", err)
	}
	sqltest.RefusesSince(t, began, a, lives)
}

// A dump that was read in again, while gateways were at work, has no grant that came after it. That is seen
// by the next grant, and by a gateway that only says that it listens.
func TestQuarantineOfADump(t *testing.T) {
	t.Parallel()
	for name, meets := range map[string]func(*Table) error{
		"a grant": func(*Table) error { return nil },
		"a sign of life": func(a *Table) error {
			err := a.requests.with(t.Context(), func(c *conn) error {
				return a.sleeper.announce(t.Context(), c, a.sleeper.place.Load())
			})
			if !errors.Is(err, errPutBack) {
				return fmt.Errorf("announced with %v, want %v", err, errPutBack)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mysqltest.Start(t)
			a, _ := listening(t, s.URL(), "a", guarded)
			sqltest.Until(t, a, "")
			sqltest.Held(t, a, "other")
			lives := sqltest.Held(t, a, "n")
			sql(t, s, "UPDATE locks.lockgw_nodes SET beats = beats - 1", "DELETE FROM locks.lockgw_names")
			if err := meets(a); err != nil {
				t.Fatal(err)
			}
			sqltest.Refuses(t, a, lives)
		})
	}
}

// A gateway that was stopped for longer than others take to sweep has its number of before.
func TestNoQuarantineAfterAStop(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	file := filepath.Join(t.TempDir(), "guard")
	knows := func(c *Config) { c.GuardFile = file }
	a, _ := listening(t, s.URL(), "a", guarded, knows)
	sqltest.Until(t, a, "")
	sqltest.Held(t, a, "n")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b := open(t, s.URL(), "b", guarded)
	sqltest.Held(t, b, "m")
	if err := b.sweep(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if r, err := sqltest.Settled(t, open(t, s.URL(), "a", guarded, knows), "o", ledger.Op{Want: 1}); err != nil || !r.Written {
		t.Errorf("it is not trusted any more: %+v, %v", r, err)
	}
}

// So is one that was read in while the gateway was stopped.
func TestQuarantineOfADumpMeanwhile(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	file := filepath.Join(t.TempDir(), "guard")
	knows := func(c *Config) { c.GuardFile = file }
	a, _ := listening(t, s.URL(), "a", guarded, knows)
	sqltest.Until(t, a, "")
	lives := sqltest.Held(t, a, "n")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	sql(t, s, "UPDATE locks.lockgw_nodes SET beats = beats - 1", "DELETE FROM locks.lockgw_names")
	sqltest.Refuses(t, open(t, s.URL(), "a", guarded, knows), lives)
}

// Nor does it in another database of the same server, with which the gateway is told to go on.
func TestQuarantineOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	file := filepath.Join(t.TempDir(), "guard")
	knows := func(c *Config) { c.GuardFile = file }
	a := open(t, s.URL(), "a", guarded, knows)
	sqltest.Held(t, a, "before")
	sql(t, s, "CREATE DATABASE dump")
	for _, table := range []string{"names", "state", "nodes", "mail"} {
		sql(t, s, "CREATE TABLE dump.lockgw_"+table+" LIKE locks.lockgw_"+table, "INSERT INTO dump.lockgw_"+table+" SELECT * FROM locks.lockgw_"+table)
	}
	lives := sqltest.Held(t, a, "n")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	sqltest.Refuses(t, open(t, s.At("root", "dump"), "a", guarded, knows), lives)
}
