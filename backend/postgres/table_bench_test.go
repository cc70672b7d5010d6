package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
)

// The database's own trivial statement, one durable write, and what a lock costs beside
// them.
//
//	go test -run - -bench . ./backend/postgres
func BenchmarkTable(b *testing.B) {
	s := pgtest.Start(b, "fsync=on")
	table, err := OpenTable(Config{URL: s.URL(), Node: backend.Node{ID: "a"}, Guard: GuardQuarantine, Lease: time.Second})
	if err != nil {
		b.Fatal(err)
	}
	defer table.Close()
	if err := table.requests.do(b.Context(), "SELECT 1"); err != nil {
		b.Fatal(err)
	}
	if _, err := table.Look(b.Context(), "n"); err != nil {
		b.Fatal(err)
	}
	do := func(sql string, args ...any) func(*testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				if err := table.requests.do(b.Context(), sql, args...); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	b.Run("select 1", do("SELECT 1"))
	b.Run("durable write", do(`UPDATE lockgw.names SET version = version + 1 WHERE name = 'lockgw:selftest:a'`))
	b.Run("look", func(b *testing.B) {
		for b.Loop() {
			_, _ = table.Look(b.Context(), "n")
		}
	})
	b.Run("pair", func(b *testing.B) {
		r, err := table.Look(b.Context(), "n")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if r, err = swap(b, table, r, ledger.Op{Want: 1}); err != nil || !r.Written {
				b.Fatal(r, err)
			}
			if r, err = swap(b, table, r, ledger.Op{Verb: ledger.Leave, Hold: r.Record.Firm("a").ID}); err != nil || !r.Written {
				b.Fatal(r, err)
			}
		}
	})
	const holds = 10_000
	if err := table.requests.do(b.Context(), `INSERT INTO lockgw.names (name, version, record, ids, firm, ends, used)
		SELECT 'r' || i, 1, '{"v":1,"base":0,"top":7,"holds":[{"node":"a","count":1,"id":7}]}', '{7}', '{true}', '{1}', now() FROM generate_series(1, $1::int) AS i`, holds); err != nil {
		b.Fatal(err)
	}
	b.Run("renew 100", func(b *testing.B) {
		at := 0
		for b.Loop() {
			rs := make([]ledger.Renewal, 100)
			for i := range rs {
				at = at%holds + 1
				rs[i] = ledger.Renewal{Name: fmt.Sprint("r", at), ID: 7, TTL: time.Minute}
			}
			if errs, err := table.Renew(b.Context(), rs); err != nil || errs[0] != nil {
				b.Fatal(errs, err)
			}
		}
	})
}

func swap(b *testing.B, table *Table, seen ledger.Reply, op ledger.Op) (ledger.Reply, error) {
	b.Helper()
	op.Node, op.Turns, op.TTL, op.OfferTTL = "a", 64, 30*time.Second, time.Second
	next, effects := ledger.Step(seen.Record, op, 0)
	return table.Swap(b.Context(), ledger.Swap{Name: "n", Base: seen.Version, Record: next, Effects: effects})
}
