package mysql

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	sql(t, s, "CREATE USER locker@'%' IDENTIFIED BY 'geheim'", "GRANT ALL ON locks.* TO locker@'%'")
	sqltest.Wrong(t, open(t, s.At("locker:geheim2", "locks"), "a"), "check user and password")
	sqltest.Wrong(t, open(t, s.At("nobody", "locks"), "a"), "check user and password")
	sqltest.Wrong(t, open(t, s.At("root", "none"), "a"), "no such database")
	sqltest.Wrong(t, open(t, s.At("locker:geheim", "mysql"), "a"), "lacks a right")
	sql(t, s, "ALTER USER locker@'%' ACCOUNT LOCK")
	sqltest.Wrong(t, open(t, s.At("locker:geheim", "locks"), "a"), "ACCOUNT UNLOCK")
	sql(t, s, "ALTER USER locker@'%' ACCOUNT UNLOCK")
	sqltest.Held(t, open(t, s.At("locker:geheim", "locks"), "a"), "n")
	sqltest.Held(t, open(t, "mysql://locker:geheim@/locks?socket="+filepath.Join(s.Dir(), "s.sock"), "b"), "m")
}

// With the tables made by somebody else, no right to make any is needed.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	admin := open(t, s.URL(), "admin", guarded)
	sqltest.Held(t, admin, "n")
	sql(t, s, "CREATE USER app@'%' IDENTIFIED BY 'x'")
	app := s.At("app:x", "locks")
	sqltest.Wrong(t, open(t, app, "a", guarded), "lacks a right")
	sql(t, s, "GRANT SELECT, INSERT, UPDATE, DELETE ON locks.* TO app@'%'")
	a, _ := listening(t, app, "a", guarded)
	b, told := listening(t, app, "b", guarded)
	sqltest.Until(t, a, "")
	sqltest.Until(t, b, "")
	if err := a.sweep(t.Context(), 0); err != nil {
		t.Error(err)
	}
	sqltest.Held(t, b, "m")
	if _, err := a.Join(t.Context(), "m", ledger.Entry{Node: "a", Want: 1}, 0); err != nil {
		t.Fatal(err)
	}
	sqltest.Hears(t, told, ledger.Waits)
	// Who logs in as another user cannot wake them; they find out in time.
	if err := admin.Send(t.Context(), waitsFor("b")); err != nil {
		t.Fatal(err)
	}
	sqltest.Hears(t, told, ledger.Waits)
}

// Where the server has no connection more, renewals go by those of requests, and requests wait for them.
func TestNoConnectionToSpare(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	sql(t, s, "CREATE USER app@'%' IDENTIFIED BY 'x' WITH MAX_USER_CONNECTIONS 1", "GRANT ALL ON locks.* TO app@'%'")
	sqltest.ServesOnOne(t, open(t, s.At("app:x", "locks"), "a"))
}

// A row that somebody has locked keeps no other lease from being renewed.
func TestRenewBesideALockedRow(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a := open(t, s.URL(), "a")
	var rs []ledger.Renewal
	for _, name := range []string{"l", "m", "n"} {
		rs = append(rs, ledger.Renewal{Name: name, ID: sqltest.Held(t, a, name), TTL: time.Minute})
	}
	rs = append(rs, ledger.Renewal{Name: "nobody's", ID: 1, TTL: time.Minute})
	lock, err := connectFirst(t.Context(), a.hosts.hosts)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := lock.query(t.Context(), "BEGIN; SELECT 1 FROM lockgw_names WHERE name = 'm' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	errs, err := a.Renew(ctx, rs)
	if err != nil || errs[0] != nil || !errors.Is(errs[1], backend.ErrRefused) || errs[2] != nil || errs[3] == nil {
		t.Errorf("renewed: %v, %v, want the server not to have waited for longer than 2 s", errs, err)
	}
	if _, err := lock.query(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if errs, err := a.Renew(t.Context(), rs); err != nil || errs[0] != nil || errs[1] != nil || errs[2] != nil || !errors.Is(errs[3], backend.ErrNotHeld) {
		t.Errorf("then renewed: %v, %v", errs, err)
	}
}

// A limit of time for statements would end the sleeps, and the wait for a row.
func TestNoLimitOfTime(t *testing.T) {
	t.Parallel()
	setting := "max_statement_time"
	if mysqltest.Real() {
		setting = "max_execution_time"
	}
	s := mysqltest.Start(t, "--"+setting+"=1000")
	a := open(t, s.URL(), "a")
	sqltest.Held(t, a, "n")
	got, err := a.requests.query(t.Context(), "SELECT @@SESSION."+setting+" + 0, @@GLOBAL."+setting+" > 0")
	if err != nil || string(got[0][0][0]) != "0" || string(got[0][0][1]) != "1" {
		t.Errorf("%s of a session and of others: %v, %v", setting, got, err)
	}
}

// Whatever a server has all sessions do, a write is committed when it is answered, statements need
// no key, and all rows are told.
func TestPresets(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t, "--completion-type=CHAIN")
	sql(t, s, "SET GLOBAL sql_safe_updates = 1", "SET GLOBAL sql_select_limit = 1", "SET GLOBAL max_join_size = 1")
	a := open(t, s.URL()+"&pool_max_conns=1", "a", guarded)
	var leases []ledger.Renewal
	for _, name := range []string{"m", "n"} {
		leases = append(leases, ledger.Renewal{Name: name, ID: sqltest.Held(t, a, name), TTL: time.Minute})
	}
	if errs, err := a.Renew(t.Context(), leases); err != nil || errors.Join(errs...) != nil {
		t.Error(errs, err)
	}
	if _, err := sqltest.Step(t, a, "n", ledger.Op{Verb: ledger.Leave, Hold: leases[1].ID}); err != nil {
		t.Fatal(err)
	}
	if got := sql(t, s, "SET sql_select_limit = 2, sql_big_selects = 1", "SELECT ends FROM locks.lockgw_names WHERE name IN ('m', 'n') ORDER BY name"); len(got) != 2 || len(got[0][0]) == 0 || len(got[1][0]) > 0 {
		t.Errorf("others see the holds %v, want that of m", got)
	}
	if err := a.sweep(t.Context(), 0); err != nil {
		t.Error(err)
	}
}

// Each right that only a sweep or a message needs, or a server that was restarted, is missed by the
// doctor, too.
func TestExamineRights(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	sqltest.Held(t, open(t, s.URL(), "admin"), "n")
	sql(t, s, "CREATE USER app@'%' IDENTIFIED BY 'x'")
	app := Config{URL: s.At("app:x", "locks")}
	tables := []string{"locks.lockgw_names", "locks.lockgw_state", "locks.lockgw_nodes", "locks.lockgw_mail"}
	for _, right := range []string{"DELETE ON locks.lockgw_names", "UPDATE ON locks.lockgw_state", "DELETE ON locks.lockgw_nodes", "INSERT ON locks.lockgw_mail", "DELETE ON locks.lockgw_mail", ""} {
		for _, table := range tables {
			sql(t, s, "GRANT SELECT, INSERT, UPDATE, DELETE ON "+table+" TO app@'%'")
		}
		what, _, lacks := strings.Cut(right, " ")
		if lacks {
			sql(t, s, "REVOKE "+right+" FROM app@'%'")
		}
		sqltest.Lacks(t, Examine(t.Context(), app), what)
	}
}

func TestExamine(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	examine := func() []backend.Finding { return Examine(t.Context(), Config{URL: s.URL()}) }
	sqltest.Examine(t, s, examine, page, "connection", "durability", "requests", "lock", "push")
}

func TestServerThatHangsRefusesNothing(t *testing.T) { sqltest.Hangs(t, store) }

func TestTablesAreMadeOnce(t *testing.T) {
	sqltest.MadeOnce(t, store, "UPDATE locks.lockgw_state SET layout = 2")
}

// The trigger has each row tell of no hold.
func TestSelfTest(t *testing.T) {
	sqltest.Liar(t, store, "CREATE TRIGGER locks.no BEFORE INSERT ON locks.lockgw_names FOR EACH ROW SET NEW.ends = REPLACE(NEW.ends, 'f1', 'f0')")
}

func TestWritesAreDropped(t *testing.T) {
	sqltest.Drops(t, store, `CREATE TRIGGER locks.no BEFORE UPDATE ON locks.lockgw_names FOR EACH ROW
		SET NEW.version = OLD.version, NEW.record = OLD.record, NEW.ends = OLD.ends, NEW.busy = OLD.busy, NEW.used = OLD.used`)
}

// What a server is refused for in earnest.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	sql(t, s, "SET GLOBAL innodb_flush_log_at_trx_commit = 2")
	a := open(t, s.URL(), "a", guarded)
	sqltest.Wrong(t, a, "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	sql(t, s, "SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	sqltest.Held(t, a, "n")
	sql(t, s, "CREATE USER app@'%' IDENTIFIED BY 'x'", "GRANT ALL ON locks.* TO app@'%'", "SET GLOBAL read_only = 1")
	b := open(t, s.At("app:x", "locks"), "b", guarded)
	sqltest.Wrong(t, b, "replica or read-only")
	sql(t, s, "SET GLOBAL read_only = 0")
	sqltest.Held(t, b, "m")
	sql(t, s, "SET GLOBAL read_only = 1") // while there are connections
	if _, err := sqltest.Step(t, b, "o", ledger.Op{Want: 1}); !errors.Is(err, backend.ErrRefused) || !contains(err, "replica or read-only") {
		t.Errorf("a server that has become read-only: %v", err)
	}
	s.Stop()
	s.Set("--sysdate-is-now")
	s.Launch()
	sqltest.Wrong(t, open(t, s.URL(), "c"), "without --sysdate-is-now")
}

// A server that has become a replica lets an administrator write on, over the connections that
// there are. Whoever uses the new one does not see that.
func TestReadOnlyForAll(t *testing.T) {
	t.Parallel()
	first, second := mysqltest.Start(t), mysqltest.Start(t)
	a := open(t, strings.Replace(first.URL(), first.Addr, first.Addr+","+second.Addr, 1), "a")
	id := sqltest.Held(t, a, "n")
	lease := []ledger.Renewal{{Name: "n", ID: id, TTL: time.Minute}}
	if errs, err := a.Renew(t.Context(), lease); err != nil || errs[0] != nil {
		t.Fatal(errs, err)
	}
	sql(t, first, "SET GLOBAL read_only = 1")
	sqltest.Held(t, open(t, second.URL(), "b"), "m")
	if errs, err := a.Renew(t.Context(), lease); err == nil && errs[0] == nil {
		t.Error("a lease is renewed at the old server")
	}
	for range 2 { // the first request may find out
		r, err := sqltest.Step(t, a, "m", ledger.Op{Want: 1})
		if r.Record.Firm("a") != nil || err != nil && !contains(err, "replica or read-only") {
			t.Errorf("two have the same name: %+v, %v", r.Record, err)
		}
	}
}

// Through a proxy that sends requests over other connections than it was asked to settle them
// on, nothing is written.
func TestAnotherConnection(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a := open(t, s.URL(), "a", guarded)
	sqltest.Held(t, a, "n")
	if _, err := a.requests.query(t.Context(), "SET @lockgw_session = NULL"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Swap(t.Context(), ledger.Swap{Name: "m", Record: ledger.Record{Top: 1}, Absolute: true}); !errors.Is(err, backend.ErrRefused) || !contains(err, "a proxy in between") {
		t.Errorf("err = %v", err)
	}
	id := sqltest.Held(t, a, "m") // over a new one
	renew := func() error {
		errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: "m", ID: id, TTL: time.Minute}})
		return errors.Join(append(errs, err)...)
	}
	if err := renew(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.renewals.query(t.Context(), "SET @lockgw_session = NULL"); err != nil {
		t.Fatal(err)
	}
	if err := renew(); !errors.Is(err, backend.ErrUnavailable) || !contains(err, "a proxy in between") {
		t.Errorf("renewed elsewhere: %v", err)
	}
	if err := renew(); err != nil { // over a new one
		t.Error(err)
	}
}

// Where somebody has locked all tables against writes, as for a backup, a write is refused while its
// caller still waits, with the reason.
func TestTablesAreLocked(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a := open(t, s.URL(), "a", guarded)
	lease := ledger.Renewal{Name: "before", ID: sqltest.Held(t, a, "before"), TTL: sqltest.ForLong}
	admin, err := connectFirst(t.Context(), a.hosts.hosts)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if _, err := admin.query(t.Context(), "FLUSH TABLES WITH READ LOCK"); err != nil {
		t.Fatal(err)
	}
	const why = "FLUSH TABLES WITH READ LOCK"
	if err := sqltest.Take(t, a, "n"); !errors.Is(err, backend.ErrRefused) || !contains(err, why) {
		t.Errorf("while the tables are locked: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := a.Renew(ctx, []ledger.Renewal{lease}); !errors.Is(err, backend.ErrRefused) || !contains(err, why) {
		t.Errorf("renewed while the tables are locked: %v", err)
	}
	if _, err := admin.query(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Fatal(err)
	}
	if errs, err := a.Renew(t.Context(), []ledger.Renewal{lease}); err != nil || errs[0] != nil {
		t.Errorf("then renewed: %v, %v", errs, err)
	}
	if err := sqltest.Take(t, a, "n"); err != nil {
		t.Error(err)
	}
}
