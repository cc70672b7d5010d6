package postgres

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/servertest"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
)

// Most tests here wait for a server to let time pass, more than one to a processor.
func TestMain(m *testing.M) {
	servertest.Parallel(4)
	code := m.Run()
	pgtest.RemoveTemplate()
	os.Exit(code)
}

// store is what the tests of all SQL stores need of this one.
var store = sqltest.Store{
	Start: func(t *testing.T) sqltest.Server { return pgtest.Start(t) },
	Open: func(t *testing.T, url, node string, g sqltest.Guard) ledger.Table {
		if !g.On {
			return open(t, url, node)
		}
		return open(t, url, node, guarded, func(c *Config) { c.GuardFile = g.File })
	},
	Do: func(t *testing.T, s sqltest.Server, statements ...string) {
		for _, one := range statements {
			psql(t, s.(*pgtest.Server), one)
		}
	},
}

// open makes the table of a node at url, which the test closes.
func open(t *testing.T, url, node string, with ...func(*Config)) *Table {
	t.Helper()
	cfg := Config{URL: url, Node: backend.Node{ID: node}}
	for _, f := range with {
		f(&cfg)
	}
	table, err := OpenTable(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	return table
}

// needs14 skips the rest of a test where the server is too old for what it looks at.
func needs14(t *testing.T, s *pgtest.Server, what string) {
	t.Helper()
	var old bool
	if err := connect(t, s.URL()).QueryRow(t.Context(), "SELECT current_setting('server_version_num')::int < 140000").Scan(&old); err != nil {
		t.Fatal(err)
	}
	if old {
		t.Skip("PostgreSQL before 14 does not " + what)
	}
}

// connect is a client of the test's own.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func carryOut(t *testing.T, c *pgx.Conn, sql string) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
}
