package postgres

import (
	"context"
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
)

// Most tests here wait for a server to let time pass, more than one to a processor.
func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0)))
	}
	code := m.Run()
	pgtest.RemoveTemplate()
	os.Exit(code)
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
