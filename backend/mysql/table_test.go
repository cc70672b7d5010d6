package mysql

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/sqltable"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
	"github.com/lockgw/lockgw/backend/tabletest"
)

// Of gateways that come for a name at the same time each one is let in, whoever is beaten.
func TestManyJoin(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a := open(t, s.URL(), "a")
	sqltest.Held(t, a, "n")
	var wg sync.WaitGroup
	for i := range 12 {
		b := open(t, s.URL(), fmt.Sprint("b", i))
		wg.Go(func() {
			r, err := b.Join(t.Context(), "n", ledger.Entry{Node: b.Node(), Want: 1}, 0)
			if err != nil || r.Written || r.Record.Entry(b.Node()) == nil {
				t.Errorf("%s: %+v, %v", b.Node(), r, err)
			}
		})
	}
	wg.Wait()
	if r, err := a.Look(t.Context(), "n"); err != nil || len(r.Record.Queue) != 12 {
		t.Errorf("those wait: %+v, %v", r.Record.Queue, err)
	}
}

func TestTable(t *testing.T) {
	s := mysqltest.Start(t)
	tabletest.Run(t, func(t *testing.T, node string) ledger.Table {
		return open(t, s.URL()+"&pool_max_conns=3&connect-timeout=30", node)
	})
}

// A write whose answer is lost with the connection may have been carried out.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	tabletest.LostAnswers(t, s.Addr, func(t *testing.T, addr, node string) ledger.Table {
		return open(t, strings.Replace(s.URL(), s.Addr, addr, 1), node)
	})
}

// Who ends a statement of a write by KILL QUERY has it refused, or not at all: who gives a name
// back and hears that it was refused goes on as if it still had it.
func TestWriteIsEndedByForce(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a, b := open(t, s.URL(), "a"), open(t, s.URL(), "b")
	for table, mode := range map[string]backend.Mode{"lockgw_nodes": backend.Exclusive, "lockgw_state": backend.Shared} {
		r, err := sqltest.Step(t, a, table, ledger.Op{Want: 1, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sqltest.Step(t, b, table, ledger.Op{Want: 1, Mode: mode}); err != nil {
			t.Fatal(err)
		}
		seen, err := b.Look(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		lock, err := connectFirst(t.Context(), a.hosts.hosts)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		if _, err := lock.query(t.Context(), "LOCK TABLES "+table+" WRITE"); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		next, effects := ledger.Step(seen.Record, ledger.Op{Node: "a", Verb: ledger.Leave, Hold: r.Record.Firm("a").ID, OfferTTL: time.Minute}, 0)
		go func() {
			_, err := a.Swap(t.Context(), ledger.Swap{Name: table, Base: seen.Version, Record: next, Effects: effects})
			done <- err
		}()
		var waits sqltable.Rows
		for ; len(waits) == 0; sqltest.Pause(t, time.Millisecond) {
			waits = sql(t, s, "SELECT id FROM information_schema.PROCESSLIST WHERE state LIKE '%metadata lock%'")
		}
		sql(t, s, "KILL QUERY "+string(waits[0][0]))
		if _, err := lock.query(t.Context(), "UNLOCK TABLES"); err != nil {
			t.Fatal(err)
		}
		err = <-done
		if is, _ := b.Look(t.Context(), table); errors.Is(err, backend.ErrRefused) != (is.Version == seen.Version) {
			t.Errorf("%s: it is said that %v, and the version is %s after %s", table, err, is.Version, seen.Version)
		}
	}
}
