package mysql

import (
	"context"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
	"github.com/lockgw/lockgw/backend/sqltable"
	"github.com/lockgw/lockgw/backend/tabletest"
)

// What requests cost, beside the database's own.
//
//	go test -run - -bench Table ./backend/mysql
func BenchmarkTable(b *testing.B) {
	s := mysqltest.Start(b, "--innodb-flush-method=fsync", "--innodb-flush-log-at-trx-commit=1")
	var some *Table
	do := func(sql string) func(context.Context) error {
		return func(ctx context.Context) error { return some.requests.do(ctx, sql) }
	}
	tabletest.Bench{
		Open: func(node string) (_ ledger.Table, err error) {
			some, err = OpenTable(Config{URL: s.URL(), Node: backend.Node{ID: node}, Guard: sqltable.GuardQuarantine, Lease: time.Second})
			return some, err
		},
		Trip:  do("DO 1"),
		Write: do("UPDATE lockgw_names SET version = version + 1 WHERE name = 'lockgw:selftest:a'"),
	}.Run(b)
}
