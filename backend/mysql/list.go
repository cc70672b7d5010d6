package mysql

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

func (t *Table) list(ctx context.Context, prefix, after string, limit int) ([]*sqltable.Reader, error) {
	got, err := t.requests.query(ctx, listSQL, []byte(prefix), []byte(prefix+"\xff"), []byte(after), limit)
	if err != nil {
		return nil, t.noticed(err)
	}
	slices.SortFunc(got[0], func(a, b []value) int { return strings.Compare(a[0].text, b[0].text) })
	return readers(got[0]), nil
}

// rows are those of one statement.
func (t *Table) rows(ctx context.Context, sql string, args ...any) ([]*sqltable.Reader, error) {
	got, err := t.requests.query(ctx, sql, args...)
	if err != nil {
		return nil, t.noticed(err)
	}
	return readers(got[0]), nil
}

// sweep has fences of rows that come later begin above those that go: mark is written first.
func (t *Table) sweep(ctx context.Context, idle time.Duration) error {
	us := idle.Microseconds()
	rows, err := t.rows(ctx, idleSQL, us, us, sqltable.SweepMost)
	if err != nil {
		return err
	}
	type row struct {
		name, ends string
		version    int64
	}
	var gone []row
	top := backend.Fence(0)
	for _, r := range rows {
		g := row{name: r.Text(), version: r.Number()}
		record, err := ledger.Decode([]byte(r.Text()))
		g.ends = r.Text()
		now := r.Number()
		if err != nil || r.Err != nil || !allOver(&record, g.ends, now-us) {
			continue
		}
		gone, top = append(gone, g), max(top, record.Top)
	}
	if len(gone) > 0 {
		if err := t.requests.do(ctx, markSQL, int64(top)); err != nil {
			return t.noticed(err)
		}
	}
	for _, g := range gone {
		if err := t.requests.do(ctx, goneSQL, []byte(g.name), g.version, []byte(g.ends)); err != nil {
			return t.noticed(err)
		}
	}
	for _, sql := range leftSQL {
		if err := t.requests.do(ctx, sql); err != nil {
			return t.noticed(err)
		}
	}
	return nil
}

// allOver: every hold of r has been over since then.
func allOver(r *ledger.Record, ends string, since int64) bool {
	putEnds(r, ends, since)
	for i := range r.Holds {
		if r.Holds[i].End > 0 {
			return false
		}
	}
	return true
}
