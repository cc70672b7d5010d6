package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/sqltable"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
	"github.com/lockgw/lockgw/backend/tabletest"
)

func guarded(c *Config) { c.Guard, c.Lease = sqltable.GuardQuarantine, sqltest.Lease }

func TestQuarantine(t *testing.T) { sqltest.Quarantine(t, store) }

func TestQuarantineOfAnEmptiedDatabase(t *testing.T) {
	sqltest.QuarantineOfAnEmptied(t, store, "DROP SCHEMA lockgw CASCADE")
}

func TestOneTableLost(t *testing.T) {
	sqltest.OneTableLost(t, store, "lockgw.names", "lockgw.nodes", "lockgw.run", "lockgw.state")
}

func TestStateEmptied(t *testing.T) { sqltest.StateEmptied(t, store, "lockgw.state") }

func TestRenewsWhereNoConnectionCanBeMade(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	r := tabletest.NewRelay(t, s.Addr)
	sqltest.RenewsOverOthers(t, open(t, strings.Replace(s.URL(), s.Addr, r.Addr, 1), "a"), r.Shut)
}

// The password was changed, say, and the gateway does not know yet.
func TestRenewsWhereNobodyIsLetIn(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	psql(t, s, "CREATE ROLE app LOGIN; GRANT CREATE ON DATABASE postgres TO app")
	a := open(t, strings.Replace(s.URL(), "postgres@", "app@", 1), "a")
	sqltest.RenewsOverOthers(t, a, func() { psql(t, s, "ALTER ROLE app NOLOGIN") })
}

func TestFollows(t *testing.T) {
	sqltest.Follows(t, store, func(t *testing.T, to string) (string, func(string)) {
		r := tabletest.NewRelay(t, to)
		return r.Addr, r.Lead
	})
}

func TestNoQuarantine(t *testing.T) { sqltest.NoQuarantine(t, store) }

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

// A database that was made with another one as its TEMPLATE has the same tables under the same numbers,
// in the same run of the server. Put in its place it knows nothing of what was granted since.
func TestQuarantineOfATemplatesCopy(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	psql(t, s, "CREATE DATABASE locks")
	table := open(t, strings.Replace(s.URL(), "/postgres?", "/locks?", 1), "a", guarded)
	sqltest.Held(t, table, "before")
	table.Reset() // which lets the database be copied
	psql(t, s, "CREATE DATABASE copy TEMPLATE locks")
	lives := sqltest.Held(t, table, "n")
	table.Reset()
	psql(t, s, "ALTER DATABASE locks RENAME TO was")
	psql(t, s, "ALTER DATABASE copy RENAME TO locks")
	sqltest.Refuses(t, table, lives)
}

// A server to which logical replication brings the tables of another one was used before, and trusted
// since. It may not have heard of the last grants of that one.
func TestQuarantineAfterLogicalReplication(t *testing.T) {
	t.Parallel()
	s, to := pgtest.Start(t, "wal_level=logical"), pgtest.Start(t)
	sqltest.Held(t, open(t, to.URL(), "b", guarded), "before")
	psql(t, to, "UPDATE lockgw.run SET fresh = false")
	psql(t, to, "TRUNCATE lockgw.names, lockgw.state")
	table := open(t, "postgres://postgres@"+s.Addr+","+to.Addr+"/postgres?sslmode=disable", "a", guarded)
	lives := sqltest.Held(t, table, "n")
	psql(t, s, "CREATE PUBLICATION p FOR TABLE lockgw.names, lockgw.state")
	host, port, _ := strings.Cut(s.Addr, ":")
	psql(t, to, "CREATE SUBSCRIPTION s CONNECTION 'host="+host+" port="+port+" user=postgres' PUBLICATION p")
	psql(t, to, "DO 'BEGIN WHILE NOT EXISTS (SELECT FROM lockgw.state) LOOP PERFORM pg_sleep(0.05); END LOOP; END'")
	s.Kill()
	sqltest.Refuses(t, table, lives)
}
