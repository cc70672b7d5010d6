package stores

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/postgres"
	"github.com/lockgw/lockgw/backend/sqltable"
	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/rig"
)

// servePostgres starts a PostgreSQL whose writes reach the disk.
func servePostgres(ctx context.Context, r *rig.Rig) (*served, error) {
	url, err := startPostgres(ctx, r)
	if err != nil {
		return nil, err
	}
	p := pg{url}
	s := &served{
		url: url, trip: each(p.trip), write: each(p.write),
		table: func(node string) (ledger.Table, error) {
			return postgres.OpenTable(postgres.Config{URL: url, Node: backend.Node{ID: node}, Guard: sqltable.GuardQuarantine, Lease: callers.TTL})
		},
		others: []other{
			{name: "pg_advisory_lock, one connection each", open: p.advisory},
			{name: "SELECT FOR UPDATE in a transaction", open: p.rowLock},
		},
		pair: bound{1, 6}, pass: bound{1, 10}, close: func() error { return nil },
	}
	return s, p.prepare(ctx)
}

func startPostgres(ctx context.Context, r *rig.Rig) (url string, err error) {
	bin, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(bin) == 0 {
		return "", errors.New("no PostgreSQL in /usr/lib/postgresql: install it with apt-get install postgresql")
	}
	addr, err := rig.FreeAddr()
	if err != nil {
		return "", err
	}
	_, port, _ := net.SplitHostPort(addr)
	dir := filepath.Join(r.Dir, "pg")
	as, err := serverUser(dir)
	if err != nil {
		return "", err
	}
	if err := os.Chmod(r.Dir, 0o711); err != nil { // the server's user has to get at its directory
		return "", err
	}
	initdb := exec.CommandContext(ctx, filepath.Join(bin[len(bin)-1], "initdb"), "-D", filepath.Join(dir, "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
	initdb.Dir, initdb.SysProcAttr = "/", &syscall.SysProcAttr{Credential: as}
	if text, err := initdb.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w\n%s", err, text)
	}
	url = "postgres://postgres@" + addr + "/postgres?sslmode=disable"
	ready := func(ctx context.Context) error {
		c, err := pgconn.Connect(ctx, url)
		if err != nil {
			return err
		}
		return c.Close(ctx)
	}
	cmd := exec.Command(filepath.Join(bin[len(bin)-1], "postgres"), "-D", filepath.Join(dir, "data"),
		"-c", "listen_addresses=127.0.0.1", "-c", "port="+port, "-c", "unix_socket_directories="+dir, "-c", "max_connections=200")
	cmd.Dir = "/"
	return url, r.StartAs(ctx, "store", ready, cmd, as)
}

// serverUser is who the server runs as, who gets the directory dir: PostgreSQL does not run
// as root. nil: as this process.
func serverUser(dir string) (*syscall.Credential, error) {
	if err := os.Mkdir(dir, 0o700); err != nil || os.Getuid() != 0 {
		return nil, err
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, int(uid), int(gid))
}

// pg is a PostgreSQL as its users have it.
type pg struct{ url string }

func (p pg) prepare(ctx context.Context) error {
	c, err := pgconn.Connect(ctx, p.url)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, `CREATE TABLE bench (name text PRIMARY KEY, version bigint NOT NULL, record text NOT NULL) WITH (fillfactor = 50)`).ReadAll()
	return err
}

// pgSession is one connection, with statements that were prepared.
type pgSession struct{ *pgconn.PgConn }

func (p pg) open(statements ...string) (pgSession, error) {
	c, err := pgconn.Connect(context.Background(), p.url)
	if err != nil {
		return pgSession{}, err
	}
	for i, sql := range statements {
		if _, err := c.Prepare(context.Background(), strconv.Itoa(i), sql, nil); err != nil {
			return pgSession{}, err
		}
	}
	return pgSession{c}, nil
}

// do carries out the statement with that number.
func (s pgSession) do(i int, args ...string) error {
	values := make([][]byte, len(args))
	for k, a := range args {
		values[k] = []byte(a)
	}
	return s.ExecPrepared(context.Background(), strconv.Itoa(i), values, nil, nil).Read().Err
}

func (s pgSession) close() error { return s.Close(context.Background()) }

func (p pg) trip(int) (pgSession, callers.Op, error) {
	s, err := p.open("SELECT 1")
	return s, func() error { return s.do(0) }, err
}

// write is a record of the usual size, with a version of its own.
func (p pg) write(i int) (pgSession, callers.Op, error) {
	s, err := p.open(`INSERT INTO bench VALUES ($1, 0, '') ON CONFLICT (name) DO UPDATE SET version = 0`,
		`UPDATE bench SET version = $2, record = $4 WHERE name = $1 AND version = $3 RETURNING clock_timestamp()`)
	if err != nil {
		return s, nil, err
	}
	name, record, version := callers.Own(i), strings.Repeat("x", 300), 0
	if err := s.do(0, name); err != nil {
		return s, nil, err
	}
	return s, func() error {
		version++
		return s.do(1, name, strconv.Itoa(version), strconv.Itoa(version-1), record)
	}, nil
}

func (p pg) advisory(name string) (lock, unlock callers.Op, closes func() error, err error) {
	s, err := p.open("SELECT pg_advisory_lock(hashtext($1))", "SELECT pg_advisory_unlock(hashtext($1))")
	return func() error { return s.do(0, name) }, func() error { return s.do(1, name) }, s.close, err
}

func (p pg) rowLock(name string) (lock, unlock callers.Op, closes func() error, err error) {
	s, err := p.open(`INSERT INTO bench VALUES ($1, 0, '') ON CONFLICT (name) DO NOTHING`,
		"BEGIN", "SELECT version FROM bench WHERE name = $1 FOR UPDATE", "COMMIT")
	if err != nil {
		return nil, nil, nil, err
	}
	begin := func() error { // in one round trip
		b := &pgconn.Batch{}
		b.ExecPrepared("1", nil, nil, nil)
		b.ExecPrepared("2", [][]byte{[]byte("row:" + name)}, nil, nil)
		_, err := s.ExecBatch(context.Background(), b).ReadAll()
		return err
	}
	return begin, func() error { return s.do(3) }, s.close, s.do(0, "row:"+name)
}
