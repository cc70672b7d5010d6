package postgres

import (
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
	"github.com/lockgw/lockgw/backend/tabletest"
)

const serializable = "default_transaction_isolation=serializable"

// Whatever a server is set up to, writes that meet wait for each other, and none fails.
func TestTable(t *testing.T) {
	s := pgtest.Start(t, "max_connections=400", serializable)
	tabletest.Run(t, func(t *testing.T, node string) ledger.Table {
		return open(t, s.URL()+"&pool_max_conns=3", node)
	})
}

// A write whose answer is lost with the connection may have been carried out, whatever the
// client library says of it.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	tabletest.LostAnswers(t, s.Addr, func(t *testing.T, addr, node string) ledger.Table {
		return open(t, strings.Replace(s.URL(), s.Addr, addr, 1), node)
	})
}

// No statement about a name is planned anew each time, and none that is planned while the
// table is empty reads all of it later.
func TestPlannedOnce(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	table := open(t, s.URL()+"&pool_max_conns=1", "a")
	for range 3 {
		held, err := sqltest.Step(t, table, "n", ledger.Op{Want: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sqltest.Step(t, table, "n", ledger.Op{Verb: ledger.Leave, Hold: held.Record.Firm("a").ID}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := table.requests.send(t.Context(), newStatement("EXPLAIN SELECT version FROM lockgw.names WHERE name = 'n'"))
	if err != nil {
		t.Fatal(err)
	}
	if plan := string(got[0][0][0]); !strings.Contains(plan, "Index") {
		t.Errorf("a name is looked for by %s", plan)
	}
	needs14(t, s, "count plans")
	got, err = table.requests.send(t.Context(), newStatement("SELECT sum(generic_plans), sum(custom_plans) FROM pg_prepared_statements"))
	if err != nil {
		t.Fatal(err)
	}
	if generic, custom := string(got[0][0][0]), string(got[0][0][1]); generic == "0" || custom != "0" {
		t.Errorf("%s statements were planned once and %s anew", generic, custom)
	}
}
