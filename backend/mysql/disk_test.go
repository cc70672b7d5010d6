package mysql

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/servertest"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
)

// While the disk of the server is full, nothing new is granted for which it has no room, and it
// says why; what is held goes on.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	s := mysqltest.StartWith(t, func(dir string) { servertest.SmallDisk(t, dir, "256m") })
	a, b := open(t, s.URL(), "a", guarded), open(t, s.URL(), "b", guarded)
	id := sqltest.Held(t, a, "before")
	free := servertest.Fill(t, s.Dir(), 64<<10)
	granted, full := sqltest.TakeMost(t, a)
	if !errors.Is(full, backend.ErrRefused) || !contains(full, "make room") {
		t.Errorf("with a full disk the error is %v, want one that tells of it", full)
	}
	errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: "before", ID: id, TTL: sqltest.ForLong}})
	if err != nil || errs[0] != nil {
		t.Errorf("what is held is not renewed: %v, %v", errs, err)
	}
	last := granted[len(granted)-1]
	if _, err := sqltest.Step(t, a, last, ledger.Op{Verb: ledger.Leave}); err != nil {
		t.Errorf("nobody may leave: %v", err)
	}
	free()
	sqltest.Recovers(t, b, append(granted[:len(granted)-1], "before"), time.Now().Add(time.Minute))
}

// A server that has no room for its binary log lets all commits wait, and tries again once a
// minute. New locks are refused then, which says why, and only few requests wait there.
func TestDiskIsFullOfTheLog(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the server takes a minute to notice that there is room again")
	}
	s := mysqltest.StartWith(t, func(dir string) { servertest.SmallDisk(t, dir, "256m") }, "--log-bin=binlog", "--sync-binlog=1", "--server-id=1")
	a, _ := listening(t, s.URL(), "a", guarded)
	b, _ := listening(t, s.URL(), "b", guarded)
	sqltest.Until(t, a, "")
	sqltest.Until(t, b, "")
	if err := sqltest.Take(t, a, "before"); err != nil {
		t.Fatal(err)
	}
	free := servertest.Fill(t, s.Dir(), 8<<10)
	var full error
	for i := 0; ; i++ { // in rows that are there, until two fail in a row: a busy server may be late once
		name := fmt.Sprint("n-", i%10)
		err := sqltest.Take(t, a, name)
		if err == nil { // whether it is given back may not be known
			err = sqltest.GiveBack(t, a, name)
		}
		if full != nil && err != nil {
			break
		}
		full = err
	}
	if !errors.Is(full, backend.ErrUnavailable) {
		t.Errorf("the first that waits: %v, want %v", full, backend.ErrUnavailable)
	}
	for _, table := range []*Table{a, b} {
		sqltest.Until(t, table, "make room")
		for range 50 {
			if err := sqltest.Take(t, table, "other"); !errors.Is(err, backend.ErrRefused) || !contains(err, "make room") {
				t.Fatalf("while the log has no room: %v", err)
			}
		}
		if _, err := table.Join(t.Context(), "before", ledger.Entry{Node: table.Node(), Want: 1}, 0); !errors.Is(err, backend.ErrRefused) || !contains(err, "make room") {
			t.Errorf("join while the log has no room: %v", err)
		}
	}
	requests := map[string]func(context.Context) error{
		"sign of life": func(ctx context.Context) error {
			return a.requests.with(ctx, func(c *conn) error { return a.sleeper.announce(ctx, c, a.sleeper.place.Load()) })
		},
		"deletion": func(ctx context.Context) error { return a.burn(ctx, map[uint64]bool{1: true}) },
	}
	for what, send := range requests {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		if err := send(ctx); !errors.Is(err, errFull) {
			t.Errorf("a %s is sent to wait there: %v", what, err)
		}
		cancel()
	}
	if got := sql(t, s, "SHOW PROCESSLIST"); len(got) > 60 {
		t.Errorf("the server has %d connections", len(got))
	}
	free()
	sqltest.Recovers(t, b, []string{"before"}, time.Now().Add(3*time.Minute))
	sqltest.Until(t, a, "")
}

// Which threads wait for room, as MariaDB and MySQL say it.
func TestWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		seconds, state string
		want           bool
	}{
		{"0", "Waiting for someone to free space", true},
		{"1", "Commit", false},
		{"2", "Commit", true},
		{"1", "waiting for handler commit", false},
		{"7", "waiting for handler commit", true},
		{"7", "User lock", false},
	} {
		if got := waits([][]byte{[]byte("1"), nil, nil, nil, nil, []byte(tt.seconds), []byte(tt.state), nil}); got != tt.want {
			t.Errorf("%s for %s s: %v", tt.state, tt.seconds, got)
		}
	}
	if waits(nil) {
		t.Error("no thread waits")
	}
}
