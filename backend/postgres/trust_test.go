package postgres

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
)

func guarded(c *Config) { c.Guard, c.Lease = GuardQuarantine, sqltest.Lease }

func TestQuarantine(t *testing.T) {
	for name, happens := range map[string]func(*pgtest.Server){
		"crashed":         (*pgtest.Server).Restart,
		"empty":           (*pgtest.Server).RestartEmpty,
		"restarted":       func(s *pgtest.Server) { s.Stop(); s.Launch() },
		"an earlier copy": func(s *pgtest.Server) { s.Stop(); s.Restore(); s.Launch() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := pgtest.Start(t)
			table := open(t, s.URL(), "a", guarded)
			sqltest.Held(t, table, "before")
			if name == "an earlier copy" {
				s.Stop()
				s.Copy()
				s.Launch()
			}
			lives := sqltest.Granted(t, table, "n")
			happens(s)
			sqltest.Refuses(t, table, lives)
		})
	}
}

// A gateway that knows of servers does not take an empty one for new, even if another
// gateway has, which knew of none. Nor does its next process.
func TestQuarantineOfAnEmptiedDatabase(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	file := func(c *Config) { c.GuardFile = filepath.Join(filepath.Dir(s.Dir()), "guard-"+filepath.Base(s.Dir())) }
	a := open(t, s.URL(), "a", guarded, file)
	sqltest.Held(t, a, "n")
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	carryOut(t, connect(t, s.URL()), `DROP SCHEMA lockgw CASCADE`)
	b := open(t, s.URL(), "b", guarded)
	if r, err := sqltest.Step(t, b, "m", ledger.Op{Want: 1}); err != nil || !r.Written {
		t.Fatalf("a gateway that knows nothing: %+v, %v", r, err)
	}
	a = open(t, s.URL(), "a", guarded, file)
	sqltest.Refuses(t, a, 1000)
}

// Without a guard, and with one at the first sight, there is no quarantine.
func TestNoQuarantine(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	table := open(t, s.URL(), "a")
	sqltest.Held(t, table, "n")
	s.Restart()
	sqltest.Held(t, table, "m")
}

// Whoever takes over from a primary may not have heard of the last grants; and a standby
// takes no locks.
func TestFailover(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	table := open(t, s.URL(), "a", guarded)
	lives := sqltest.Held(t, table, "n")
	standby := s.Standby()
	alone := open(t, standby.URL(), "b", guarded)
	if err := alone.Ping(t.Context()); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "standby") {
		t.Errorf("a standby: %v", err)
	}
	both := open(t, "postgres://postgres@"+standby.Addr+","+s.Addr+"/postgres?sslmode=disable", "a", guarded)
	sqltest.Held(t, both, "both")
	s.Kill()
	standby.Promote()
	sqltest.Refuses(t, both, lives)
}
