package postgres

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
)

// A file of passwords that is replaced counts for the next connection. While it is away, that of before does.
func TestPassfileIsReplaced(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	sql := func(do string) {
		t.Helper()
		if _, err := connect(t, s.URL()).Exec(t.Context(), do); err != nil {
			t.Fatal(err)
		}
	}
	cut := func() {
		t.Helper()
		sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'locker'")
	}
	sql("CREATE ROLE locker LOGIN PASSWORD 'one'")
	sql("GRANT CREATE ON DATABASE postgres TO locker")
	s.HBA("host all locker 127.0.0.1/32 scram-sha-256")
	path := filepath.Join(t.TempDir(), "pgpass")
	write := func(password string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("*:*:*:locker:"+password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	a := open(t, "postgres://locker@"+s.Addr+"/postgres?passfile="+path, "a")
	sqltest.Held(t, a, "n1")
	sql("ALTER ROLE locker PASSWORD 'two'")
	write("two")
	cut()
	sqltest.Held(t, a, "n2")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	cut()
	sqltest.Held(t, a, "n3")
}

// A file without an end is refused, and not waited for.
func TestPassfileIsPlain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"passfile", "sslrootcert"} {
		if err := CheckURL("postgres://u@h/d?" + name + "=" + path); err == nil || !strings.Contains(err.Error(), name+": "+path+" is no plain file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
