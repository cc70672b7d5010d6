package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/servertest"
	"github.com/lockgw/lockgw/backend/sqltable"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	s.HBA("host all locker 127.0.0.1/32 scram-sha-256")
	psql(t, s, "SET password_encryption = 'scram-sha-256'; CREATE ROLE locker LOGIN PASSWORD 'geheim'")
	psql(t, s, "GRANT CREATE ON DATABASE postgres TO locker")
	at := func(login, more string) string {
		return "postgres://" + login + "@" + s.Addr + "/postgres?sslmode=disable" + more
	}
	sqltest.Wrong(t, open(t, at("locker:geheim2", ""), "a"), "check user and password")
	sqltest.Wrong(t, open(t, at("nobody", ""), "a"), "check user and password")
	sqltest.Wrong(t, open(t, strings.Replace(at("locker:geheim", ""), "/postgres?", "/none?", 1), "a"), "no such database")
	sqltest.Held(t, open(t, at("locker:geheim", ""), "a"), "n")
	host, port, _ := net.SplitHostPort(s.Addr)
	file := filepath.Join(t.TempDir(), "pass")
	if err := os.WriteFile(file, []byte(host+":"+port+":*:locker:geheim\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	sqltest.Held(t, open(t, at("locker", "&passfile="+file), "b"), "m")
}

// With the tables made by somebody else, no right to make any is needed.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	admin := open(t, s.URL(), "admin", guarded)
	sqltest.Held(t, admin, "n")
	psql(t, s, "CREATE ROLE app LOGIN")
	app := strings.Replace(s.URL(), "postgres@", "app@", 1)
	sqltest.Wrong(t, open(t, app, "a", guarded), "lacks a right")
	psql(t, s, "GRANT USAGE ON SCHEMA lockgw TO app; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA lockgw TO app")
	a, told := listening(t, app, "a", guarded)
	sqltest.Until(t, a, "")
	sqltest.Held(t, a, "m")
	if err := a.sweep(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if _, err := admin.Join(t.Context(), "m", ledger.Entry{Node: "admin", Want: 1}, 0); err != nil {
		t.Fatal(err)
	}
	sqltest.Hears(t, told, ledger.Waits)
}

// Where the server has no connection more, renewals go by those of requests, and requests wait for them.
func TestNoConnectionToSpare(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	psql(t, s, "CREATE ROLE app LOGIN CONNECTION LIMIT 1; GRANT CREATE ON DATABASE postgres TO app")
	sqltest.ServesOnOne(t, open(t, strings.Replace(s.URL(), "postgres@", "app@", 1), "a"))
}

// So it is where a pooler takes no connection more, which has no code for that.
func TestPoolerHasNoConnectionToSpare(t *testing.T) {
	t.Parallel()
	pooled := pgbouncer(t, pgtest.Start(t), "transaction", "max_client_conn = 1")
	sqltest.ServesOnOne(t, open(t, pooled, "a"))
	sqltest.Wrong(t, open(t, pooled, "b"), "max_client_conn of PgBouncer")
}

// A dump that is read in makes the tables, then their rows, then the keys. What a gateway does meanwhile is not
// in its way.
func TestDumpIsReadIn(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	a := open(t, s.URL(), "a")
	sqltest.Held(t, a, "n")
	psql(t, s, "DROP TABLE lockgw.state; CREATE TABLE lockgw.state (one boolean DEFAULT true NOT NULL, layout integer NOT NULL, mark bigint DEFAULT 0 NOT NULL, used text DEFAULT '' NOT NULL)")
	b := open(t, s.URL(), "b")
	sqltest.Wrong(t, b, "no primary key")
	psql(t, s, "INSERT INTO lockgw.state VALUES (true, 1, 7, ''); ALTER TABLE lockgw.state ADD PRIMARY KEY (one)")
	sqltest.Held(t, b, "m")
}

// A row that somebody has locked keeps no other lease from being renewed.
func TestRenewBesideALockedRow(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	a := open(t, s.URL(), "a")
	var rs []ledger.Renewal
	for _, name := range []string{"l", "m", "n"} {
		rs = append(rs, ledger.Renewal{Name: name, ID: sqltest.Held(t, a, name), TTL: time.Minute})
	}
	rs = append(rs, ledger.Renewal{Name: "nobody's", ID: 1, TTL: time.Minute})
	c := connect(t, s.URL())
	carryOut(t, c, "BEGIN; SELECT FROM lockgw.names WHERE name = 'm' FOR UPDATE")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	errs, err := a.Renew(ctx, rs)
	if err != nil || errs[0] != nil || !errors.Is(errs[1], backend.ErrRefused) || errs[2] != nil || errs[3] == nil {
		t.Errorf("renewed: %v, %v", errs, err)
	}
	carryOut(t, c, "COMMIT")
	if errs, err := a.Renew(t.Context(), rs); err != nil || errs[0] != nil || errs[1] != nil || errs[2] != nil || !errors.Is(errs[3], backend.ErrNotHeld) {
		t.Errorf("then renewed: %v, %v", errs, err)
	}
}

// Whatever encoding the server is set up to for a user, a name is the same for all.
func TestClientEncoding(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	psql(t, s, "CREATE ROLE app LOGIN SUPERUSER; ALTER ROLE app SET client_encoding = 'LATIN1'")
	a, b := open(t, strings.Replace(s.URL(), "postgres@", "app@", 1), "a"), open(t, s.URL(), "b")
	id := sqltest.Held(t, a, "\u00fc\u20ac")
	if seen, err := b.Look(t.Context(), "\u00fc\u20ac"); err != nil || seen.Record.Firm("a") == nil || seen.Record.Firm("a").ID != id {
		t.Errorf("the other one sees %+v, %v", seen, err)
	}
}

// A database in which not every name can be written is refused, by a reason that begins with nothing else.
func TestOtherEncoding(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	psql(t, s, "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	_, err := open(t, strings.Replace(s.URL(), "/postgres?", "/latin?", 1), "a").Look(t.Context(), "n")
	if want := backend.ErrRefused.Error() + ": the database has the encoding LATIN1"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("err = %v, want %s", err, want)
	}
}

func TestServerThatHangsRefusesNothing(t *testing.T) { sqltest.Hangs(t, store) }

func TestTablesAreMadeOnce(t *testing.T) {
	sqltest.MadeOnce(t, store, "UPDATE lockgw.state SET layout = 2")
}

// The trigger has each row tell of no hold.
func TestSelfTest(t *testing.T) {
	sqltest.Liar(t, store, `CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.ends = ARRAY[0]; RETURN NEW; END';
		CREATE TRIGGER no BEFORE INSERT OR UPDATE ON lockgw.names FOR EACH ROW WHEN (cardinality(NEW.ids) > 0) EXECUTE FUNCTION no()`)
}

func TestWritesAreDropped(t *testing.T) {
	for name, does := range map[string]string{
		"by a trigger": `CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
			CREATE TRIGGER no BEFORE UPDATE ON lockgw.names FOR EACH ROW EXECUTE FUNCTION no()`,
		"and answered": `CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END';
			CREATE TRIGGER no BEFORE UPDATE ON lockgw.names FOR EACH ROW EXECUTE FUNCTION no()`,
	} {
		t.Run(name, func(t *testing.T) { sqltest.Drops(t, store, does) })
	}
}

// Rows that nobody uses go, and the fences of the next ones are above those of before, also
// if the clock was set back.
func TestSweep(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	a := open(t, s.URL(), "a")
	sqltest.Sweep(t, a, a.sweep)
}

func TestSweepMany(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	a := open(t, s.URL(), "a")
	sqltest.SweepMany(t, a, a.sweep, sqltable.SweepMost, func(name string, n int) {
		psql(t, s, fmt.Sprintf(`INSERT INTO lockgw.names SELECT n.name || '-' || i, n.version, n.record, n.ids, n.firm, n.ends, n.used
			FROM lockgw.names AS n, generate_series(1, %d) AS i WHERE n.name = '%s'`, n, name))
	})
}

func TestSweepKeepsQueue(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	a := open(t, s.URL(), "a")
	sqltest.SweepKeepsQueue(t, a, a.sweep)
}

func TestSweepBesideSpoilt(t *testing.T) {
	t.Parallel()
	for _, top := range []string{`"x"`, "1.5", "1e30"} {
		s := pgtest.Start(t)
		a := open(t, s.URL(), "a")
		sqltest.SweepBesideSpoilt(t, a, a.sweep, func(name string) {
			psql(t, s, fmt.Sprintf(`UPDATE lockgw.names SET record = jsonb_set(record, '{top}', '%s') WHERE name = '%s'`, top, name))
		})
	}
}

// The statement that makes a row may have looked at the mark before a sweep had raised it, and
// then wait until the row of before is gone.
func TestSweepWhileOneIsMade(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	a := open(t, s.URL(), "a")
	high := sqltest.Left(t, a, "n")
	b := open(t, s.URL(), "b")
	sqltest.Held(t, b, "other")
	sweeps, watches := connect(t, s.URL()), connect(t, s.URL())
	carryOut(t, sweeps, "BEGIN")
	if _, err := sweeps.Exec(t.Context(), a.requests.of(sweepSQL), 0.0, 10); err != nil {
		t.Fatal(err)
	}
	made := sqltest.Makes(t, b, "n")
	for waits := false; !waits; sqltest.Pause(t, time.Millisecond) {
		if len(made) > 0 { // it need not wait
			break
		}
		if err := watches.QueryRow(t.Context(), "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'").Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	carryOut(t, sweeps, "COMMIT")
	sqltest.Above(t, b, "n", high, made)
}

// byTLS starts a server where the user tls has to come by TLS, and as more says. shows has it begin
// again with another certificate, which is also the one that it trusts.
func byTLS(t *testing.T, cert, key, more string) (s *pgtest.Server, shows func(cert, key string)) {
	t.Helper()
	s = pgtest.Start(t)
	s.Set("ssl=on")
	for _, setting := range []string{"ssl_cert_file", "ssl_key_file", "ssl_ca_file"} {
		s.Set(setting + "=" + filepath.Join(s.Dir(), setting))
	}
	s.HBA("hostssl all tls 127.0.0.1/32 trust "+more, "host all tls 127.0.0.1/32 reject")
	shows = func(cert, key string) {
		t.Helper()
		s.Stop()
		for setting, file := range map[string]string{"ssl_cert_file": cert, "ssl_key_file": key, "ssl_ca_file": cert} {
			own := filepath.Join(s.Dir(), setting)
			servertest.Replace(t, own, file)
			s.Own(own)
		}
		s.Launch()
	}
	shows(cert, key)
	psql(t, s, "CREATE ROLE tls LOGIN; GRANT CREATE ON DATABASE postgres TO tls")
	return s, shows
}

func TestTLS(t *testing.T) {
	t.Parallel()
	ca, key := servertest.Certificate(t)
	s, _ := byTLS(t, ca, key, "")
	at := func(more string) string { return "postgres://tls@" + s.Addr + "/postgres?sslmode=" + more }
	sqltest.Held(t, open(t, at("verify-full&sslrootcert="+ca), "a"), "n")
	sqltest.Wrong(t, open(t, at("disable"), "b"), "pg_hba.conf")
	other, _ := servertest.Certificate(t)
	sqltest.Wrong(t, open(t, at("verify-full&sslrootcert="+other), "c"), "certificate")
}

// Files that are replaced count for the next connection, and until all of them are, those of before.
func TestFilesAreReplaced(t *testing.T) {
	t.Parallel()
	cert, key := servertest.Certificate(t)
	s, shows := byTLS(t, cert, key, "clientcert=verify-ca")
	for _, mode := range []string{"verify-full", "verify-ca"} {
		own, ownKey := servertest.Certificate(t)
		shows(own, ownKey)
		a := open(t, "postgres://tls@"+s.Addr+"/postgres?sslmode="+mode+"&sslrootcert="+own+"&sslcert="+own+"&sslkey="+ownKey, mode)
		sqltest.Held(t, a, mode+"-1")

		next, nextKey := servertest.Certificate(t)
		servertest.Replace(t, own, next)
		s.Stop()
		s.Launch()
		sqltest.Held(t, a, mode+"-2")

		servertest.Replace(t, ownKey, nextKey)
		shows(next, nextKey)
		sqltest.Held(t, a, mode+"-3")
		pair, err := tls.LoadX509KeyPair(next, nextKey)
		if err != nil {
			t.Fatal(err)
		}
		var sees string
		if err := connect(t, s.URL()).QueryRow(t.Context(), "SELECT min(client_serial)::text FROM pg_stat_ssl").Scan(&sees); err != nil || sees != pair.Leaf.SerialNumber.String() {
			t.Errorf("the server sees the certificate %s, want %d: %v", sees, pair.Leaf.SerialNumber, err)
		}
	}
}
