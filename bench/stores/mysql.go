package stores

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	_ "github.com/go-sql-driver/mysql" // the driver of database/sql

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/mysql"
	"github.com/lockgw/lockgw/backend/sqltable"
	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/rig"
)

// serveMySQL starts a MariaDB, or the MySQL that LOCKGW_MYSQLD names, whose writes reach the
// disk.
func serveMySQL(ctx context.Context, r *rig.Rig) (*served, error) {
	addr, err := startMySQL(ctx, r)
	if err != nil {
		return nil, err
	}
	m, err := openMySQL(addr)
	if err != nil {
		return nil, err
	}
	url := "mysql://root@" + addr + "/bench?ssl-mode=disabled"
	s := &served{
		url: url, trip: each(m.trip), write: each(m.write),
		table: func(node string) (ledger.Table, error) {
			return mysql.OpenTable(mysql.Config{URL: url, Node: backend.Node{ID: node}, Guard: sqltable.GuardQuarantine, Lease: callers.TTL})
		},
		others: []other{
			{name: "GET_LOCK, one connection each", open: m.getLock},
			{name: "SELECT FOR UPDATE in a transaction", open: m.rowLock},
		},
		pair: bound{2.2, 0}, pass: bound{2, 8}, close: m.Close,
	}
	_, err = m.ExecContext(ctx, `CREATE TABLE bench (name varchar(100) PRIMARY KEY, version bigint NOT NULL, record text NOT NULL) ENGINE=InnoDB`)
	return s, err
}

// startMySQL starts a server with an empty database and a user root without a password.
func startMySQL(ctx context.Context, r *rig.Rig) (addr string, err error) {
	program := cmp.Or(os.Getenv("LOCKGW_MYSQLD"), "mariadbd")
	if _, err := exec.LookPath(program); err != nil {
		program = "/usr/sbin/mariadbd" // where Debian has it, which need not be in PATH
	}
	version, err := exec.CommandContext(ctx, program, "--no-defaults", "--version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("no MariaDB server: install it with apt-get install mariadb-server: %w\n%s", err, version)
	}
	if addr, err = rig.FreeAddr(); err != nil {
		return "", err
	}
	_, port, _ := net.SplitHostPort(addr)
	dir := filepath.Join(r.Dir, "mysql")
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o700); err != nil {
		return "", err
	}
	args := []string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data"), "--tmpdir=" + filepath.Join(dir, "tmp")}
	if os.Getuid() == 0 {
		args = append(args, "--user=root")
	}
	initialize := exec.CommandContext(ctx, program, append(args, "--initialize-insecure")...)
	if strings.Contains(string(version), "MariaDB") {
		initialize = exec.CommandContext(ctx, "mariadb-install-db", append(args, "--auth-root-authentication-method=normal", "--skip-test-db")...)
	} else {
		args = append(args, "--mysqlx=OFF", "--secure-file-priv=NULL", "--disable-log-bin")
	}
	if text, err := initialize.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", initialize.Path, err, text)
	}
	file := filepath.Join(dir, "init.sql")
	if err := os.WriteFile(file, []byte("CREATE DATABASE bench;\nCREATE USER IF NOT EXISTS root@'127.0.0.1';\nGRANT ALL ON *.* TO root@'127.0.0.1';\n"), 0o600); err != nil {
		return "", err
	}
	ready := func(ctx context.Context) error {
		m, err := openMySQL(addr)
		if err != nil {
			return err
		}
		return errors.Join(m.PingContext(ctx), m.Close())
	}
	return addr, r.Start(ctx, "store", ready, program, append(args, "--port="+port, "--bind-address=127.0.0.1", "--skip-name-resolve", "--init-file="+file,
		"--socket="+filepath.Join(dir, "s.sock"), "--pid-file="+filepath.Join(dir, "pid"), "--max-connections=400", "--innodb-flush-log-at-trx-commit=1")...)
}

// my is a MySQL as its users have it.
type my struct{ *sql.DB }

func openMySQL(addr string) (my, error) {
	db, err := sql.Open("mysql", "root@tcp("+addr+")/bench?interpolateParams=true&multiStatements=true")
	return my{db}, err
}

// mySession is one connection.
type mySession struct{ *sql.Conn }

func (m my) open() (mySession, error) {
	c, err := m.Conn(context.Background())
	return mySession{c}, err
}

func (s mySession) close() error { return s.Close() }

func (s mySession) do(sql string, args ...any) error {
	_, err := s.ExecContext(context.Background(), sql, args...)
	return err
}

// one is a statement that has to tell 1.
func (s mySession) one(sql string, args ...any) error {
	var n int
	err := s.QueryRowContext(context.Background(), sql, args...).Scan(&n)
	if err == nil && n != 1 {
		err = fmt.Errorf("%s: %d", sql, n)
	}
	return err
}

func (m my) trip(int) (mySession, callers.Op, error) {
	s, err := m.open()
	return s, func() error { return s.do("DO 1") }, err
}

// write is a record of the usual size, with a version of its own.
func (m my) write(i int) (mySession, callers.Op, error) {
	s, err := m.open()
	if err != nil {
		return s, nil, err
	}
	name, record, version := callers.Own(i), strings.Repeat("x", 300), 0
	return s, func() error {
		version++
		got, err := s.ExecContext(context.Background(), "UPDATE bench SET version = ?, record = ? WHERE name = ? AND version = ?", version, record, name, version-1)
		if err != nil {
			return err
		}
		if n, err := got.RowsAffected(); n != 1 {
			return errors.Join(errors.New("not written"), err)
		}
		return nil
	}, s.do("REPLACE INTO bench VALUES (?, 0, '')", name)
}

func (m my) getLock(name string) (lock, unlock callers.Op, closes func() error, err error) {
	s, err := m.open()
	return func() error { return s.one("SELECT GET_LOCK(?, 60)", name) }, func() error { return s.one("SELECT RELEASE_LOCK(?)", name) }, s.close, err
}

func (m my) rowLock(name string) (lock, unlock callers.Op, closes func() error, err error) {
	s, err := m.open()
	if err != nil {
		return nil, nil, nil, err
	}
	name = "row:" + name
	begin := func() error { // in one round trip
		return s.do("START TRANSACTION; SELECT version FROM bench WHERE name = ? FOR UPDATE", name)
	}
	return begin, func() error { return s.do("COMMIT") }, s.close, s.do("INSERT INTO bench VALUES (?, 0, '') ON DUPLICATE KEY UPDATE version = version", name)
}
