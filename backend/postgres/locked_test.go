package postgres

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/postgres/pgtest"
	"github.com/lockgw/lockgw/backend/sqltable/sqltest"
)

// While somebody has locked the table or a row, it is told that this is why nothing can be written,
// with a pooler in between, too, whose connections go to others as they were.
func TestSomebodyHasLocked(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	pooled := pgbouncer(t, s, "transaction")
	for url, node := range map[string]string{s.URL(): "a", pooled: "b"} {
		table := open(t, url, node)
		id := sqltest.Held(t, table, node)
		take := func() error {
			_, err := sqltest.Step(t, table, "new "+node, ledger.Op{Want: 1})
			return err
		}
		renew := func() error {
			errs, err := table.Renew(t.Context(), []ledger.Renewal{{Name: node, ID: id, TTL: time.Minute}})
			return errors.Join(append(errs, err)...)
		}
		for _, tt := range []struct {
			locks string
			what  func() error
		}{
			{"LOCK TABLE lockgw.names IN EXCLUSIVE MODE", take},
			{"LOCK TABLE lockgw.names IN ACCESS EXCLUSIVE MODE", take},
			{"UPDATE lockgw.names SET used = used", renew},
		} {
			somebody := connect(t, s.URL())
			// Or who waits for it would wait for ever.
			carryOut(t, somebody, "BEGIN; SET LOCAL idle_in_transaction_session_timeout = '20s'; "+tt.locks)
			if err := tt.what(); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "somebody has locked") {
				t.Errorf("%s: after %s: %v", node, tt.locks, err)
			}
			carryOut(t, somebody, "ROLLBACK")
			if err := tt.what(); err != nil {
				t.Errorf("%s: when that is over: %v", node, err)
			}
		}
	}
	var left string
	if err := connect(t, pooled).QueryRow(t.Context(), "SHOW lock_timeout").Scan(&left); err != nil || left != "0" {
		t.Errorf("others get the connection with a lock_timeout of %s, %v", left, err)
	}
}
