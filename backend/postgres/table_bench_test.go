package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/sqltable"
	"github.com/lockgw/lockgw/backend/tabletest"
)

// What requests cost, beside the database's own.
//
//	go test -run - -bench Table ./backend/postgres
func BenchmarkTable(b *testing.B) {
	s := pgtest.Start(b, "fsync=on")
	var some *Table
	do := func(sql string) func(context.Context) error {
		return func(ctx context.Context) error { return some.requests.do(ctx, sql) }
	}
	tabletest.Bench{
		Open: func(node string) (_ ledger.Table, err error) {
			some, err = OpenTable(Config{URL: s.URL(), Node: backend.Node{ID: node}, Guard: sqltable.GuardQuarantine, Lease: time.Second})
			return some, err
		},
		Trip:  do("SELECT 1"),
		Write: do(`UPDATE lockgw.names SET version = version + 1 WHERE name = 'lockgw:selftest:a'`),
	}.Run(b)
}
