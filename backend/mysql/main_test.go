package mysql

import (
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/servertest"
	"github.com/lockgw/lockgw/backend/sqltable"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
)

// Most tests here wait for a server to let time pass, more than one to a processor.
func TestMain(m *testing.M) {
	servertest.Parallel(4)
	code := m.Run()
	mysqltest.RemoveTemplate()
	os.Exit(code)
}

// store is what the tests of all SQL stores need of this one.
var store = sqltest.Store{
	Start: func(t *testing.T) sqltest.Server { return mysqltest.Start(t) },
	Open: func(t *testing.T, url, node string, g sqltest.Guard) ledger.Table {
		if !g.On {
			return open(t, url, node)
		}
		return open(t, url, node, guarded, func(c *Config) { c.GuardFile = g.File })
	},
	Do: func(t *testing.T, s sqltest.Server, statements ...string) {
		sql(t, s.(*mysqltest.Server), statements...)
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

// sql carries out statements as the administrator, and returns what the last one tells.
func sql(t *testing.T, s *mysqltest.Server, statements ...string) (told sqltable.Rows) {
	t.Helper()
	a, err := parseAddress(s.At("root", "mysql"), nil)
	if err != nil {
		t.Fatal(err)
	}
	connector, err := mysql.NewConnector(a.hosts[0])
	if err != nil {
		t.Fatal(err)
	}
	dc, err := connector.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer dc.Close()
	c := &conn{Conn: dc}
	for _, one := range statements {
		got, err := c.query(t.Context(), one)
		if err != nil {
			t.Fatalf("%s: %v", one, err)
		}
		if len(got) > 0 {
			told = got[0]
		}
	}
	return told
}
