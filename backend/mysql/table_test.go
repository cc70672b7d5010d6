package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
	"github.com/lockgw/lockgw/backend/tabletest"
)

// Many gateways that want the same name are let in one after the other; and one that vanishes
// while it has the row locked keeps the others from it for seconds.
func TestJoinLocked(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a := open(t, s.URL(), "a")
	sqltest.Held(t, a, "n")
	vanished, err := connectFirst(t.Context(), a.hosts.hosts)
	if err != nil {
		t.Fatal(err)
	}
	defer vanished.Close()
	if _, err := vanished.query(t.Context(), lockingSQL, []byte("n")); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		node := fmt.Sprint("b", n)
		b := open(t, s.URL()+"&pool_max_conns=1", node)
		for end := time.Now().Add(time.Minute); ; {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			var r ledger.Reply
			err := b.Prepare(ctx)
			if err == nil {
				err = b.requests.with(ctx, func(c *conn) (err error) {
					r, err = b.joinLocked(ctx, c, "n", ledger.Entry{Node: node, Want: 1})
					c.broken = c.broken || err != nil
					return err
				})
			}
			cancel()
			if err == nil && len(r.Record.Queue) == n+1 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %+v, %v", node, r.Record, err)
			}
		}
		if got, err := b.requests.query(t.Context(), "SELECT @@SESSION.wait_timeout = @@GLOBAL.wait_timeout"); err != nil || got[0][0][0].text != "1" {
			t.Errorf("the connection is left as it was for the locked row: %v, %v", got, err)
		}
	}
}

// Where the connection does not lead where it led, nobody has joined, also if the row was locked.
func TestJoinElsewhere(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	a, b := open(t, s.URL(), "a"), open(t, s.URL(), "b")
	sqltest.Held(t, a, "n")
	sqltest.Held(t, b, "m")
	err := b.requests.with(t.Context(), func(c *conn) error {
		c.guard = "(1 = 0)"
		r, err := b.joinLocked(t.Context(), c, "n", ledger.Entry{Node: "b", Want: 1})
		c.broken = true
		if err == nil {
			t.Errorf("nothing was written, and it is told %+v", r)
		}
		return err
	})
	if !errors.Is(err, backend.ErrRefused) {
		t.Error(err)
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
		var waits rows
		for ; len(waits) == 0; sqltest.Pause(t, time.Millisecond) {
			waits = sql(t, s, "SELECT id FROM information_schema.PROCESSLIST WHERE state LIKE '%metadata lock%'")
		}
		sql(t, s, "KILL QUERY "+waits[0][0].text)
		if _, err := lock.query(t.Context(), "UNLOCK TABLES"); err != nil {
			t.Fatal(err)
		}
		err = <-done
		if is, _ := b.Look(t.Context(), table); errors.Is(err, backend.ErrRefused) != (is.Version == seen.Version) {
			t.Errorf("%s: it is said that %v, and the version is %s after %s", table, err, is.Version, seen.Version)
		}
	}
}
