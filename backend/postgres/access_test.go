package postgres

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	s.HBA("host all locker 127.0.0.1/32 scram-sha-256")
	psql(t, s, "CREATE ROLE locker LOGIN PASSWORD 'geheim'")
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

func TestServerThatHangsRefusesNothing(t *testing.T) { sqltest.Hangs(t, store) }

func TestTablesAreMadeOnce(t *testing.T) {
	sqltest.MadeOnce(t, store, "UPDATE lockgw.state SET layout = 2")
}

// The trigger has each row tell of no hold.
func TestSelfTest(t *testing.T) {
	sqltest.Liar(t, store, `CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.ends = ARRAY[0]; RETURN NEW; END';
		CREATE TRIGGER no BEFORE INSERT OR UPDATE ON lockgw.names FOR EACH ROW WHEN (cardinality(NEW.ids) > 0) EXECUTE FUNCTION no()`)
}

// Rows that nobody uses go, and the fences of the next ones are above those of before, also
// if the clock was set back.
func TestSweep(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	a := open(t, s.URL(), "a")
	sqltest.Sweep(t, a, a.sweep)
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

func TestTLS(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	ca := certify(t, s)
	s.Stop()
	s.Set("ssl=on", "ssl_cert_file="+filepath.Join(s.Dir(), "cert.pem"), "ssl_key_file="+filepath.Join(s.Dir(), "key.pem"))
	s.HBA("hostssl all tls 127.0.0.1/32 trust", "host all tls 127.0.0.1/32 reject")
	s.Launch()
	psql(t, s, "CREATE ROLE tls LOGIN; GRANT CREATE ON DATABASE postgres TO tls")
	at := func(more string) string { return "postgres://tls@" + s.Addr + "/postgres?sslmode=" + more }
	sqltest.Held(t, open(t, at("verify-full&sslrootcert="+ca), "a"), "n")
	sqltest.Wrong(t, open(t, at("disable"), "b"), "pg_hba.conf")
	other := pgtest.Start(t)
	sqltest.Wrong(t, open(t, at("verify-full&sslrootcert="+certify(t, other)), "c"), "certificate")
}

// certify puts a key and a certificate of its own into the server's directory, and returns
// the path of what to trust.
func certify(t *testing.T, s *pgtest.Server) (ca string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "pgtest"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write := func(path string, block *pem.Block) {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, private := filepath.Join(s.Dir(), "cert.pem"), filepath.Join(s.Dir(), "key.pem")
	write(cert, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	write(private, &pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	s.Own(cert)
	s.Own(private)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	write(ca, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	return ca
}
