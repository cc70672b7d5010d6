package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

const (
	sweepMost = 1000
	// unused is how long a row stays that nobody uses: longer than a request is under way.
	unused = time.Minute
)

// List implements ledger.Table. The cursor is the last name told.
func (t *Table) List(ctx context.Context, prefix, cursor string, limit int) ([]ledger.Named, string, error) {
	if err := t.prepare(ctx); err != nil {
		return nil, "", err
	}
	raw := t.cfg.KeyPrefix + prefix
	got, err := t.requests.query(ctx, listSQL, []byte(raw), []byte(raw+"\xff"), []byte(cursor), limit)
	if err != nil {
		return nil, "", t.noticed(err)
	}
	slices.SortFunc(got[0], func(a, b []value) int { return strings.Compare(a[0].text, b[0].text) })
	var found []ledger.Named
	last := ""
	for _, row := range got[0] {
		r := reader{row: row}
		last = r.text()
		a := r.there()
		if r.err != nil {
			return nil, "", r.err
		}
		name := last[len(t.cfg.KeyPrefix):]
		if sqltable.Hidden(name) {
			continue
		}
		reply, err := a.reply(last)
		if err != nil {
			return nil, "", err
		}
		found = append(found, ledger.Named{Name: name, Reply: reply})
	}
	if len(got[0]) < limit {
		last = ""
	}
	return found, last, nil
}

// Newest implements floor.Keeper.
func (t *Table) Newest(ctx context.Context) (backend.Fence, error) {
	if err := t.prepare(ctx); err != nil {
		return 0, err
	}
	got, err := t.requests.query(ctx, newestSQL)
	if err != nil {
		return 0, t.noticed(err)
	}
	if len(got[0]) != 1 {
		return 0, fmt.Errorf("%w: the table lockgw_state has %d rows, and not one", backend.ErrRefused, len(got[0]))
	}
	r := reader{row: got[0][0]}
	newest := r.number()
	return backend.Fence(newest), r.err
}

// sweep deletes rows that nobody has used for so long. Fences of rows that come later begin
// above those that go: mark is written first.
func (t *Table) sweep(ctx context.Context, idle time.Duration) error {
	us := idle.Microseconds()
	got, err := t.requests.query(ctx, idleSQL, us, us, sweepMost)
	if err != nil {
		return t.noticed(err)
	}
	type row struct {
		name, ends string
		version    int64
	}
	var gone []row
	top := backend.Fence(0)
	for _, one := range got[0] {
		r := reader{row: one}
		g := row{name: r.text(), version: r.number()}
		record, err := ledger.Decode([]byte(r.text()))
		g.ends = r.text()
		now := r.number()
		if err != nil || r.err != nil || !allOver(&record, g.ends, now-us) {
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

// Ping implements ledger.Table. A server in quarantine is a backend.Later of an ErrPartly.
// Without messages waiters are served by timers only, so it asks for these, too.
func (t *Table) Ping(ctx context.Context) error {
	if err := t.prepare(ctx); err != nil {
		return fmt.Errorf("mysql: %w", err)
	}
	err := t.decide(ctx)
	var later *backend.Later
	switch {
	case errors.As(err, &later):
		return &backend.Later{After: later.After, Err: fmt.Errorf("%w: %s", backend.ErrPartly, sqltable.Reason(later))}
	case err != nil:
		return fmt.Errorf("mysql: %w", err)
	}
	if t.cfg.Guard != GuardQuarantine { // nothing was asked yet
		if _, err := t.requests.query(ctx, layoutSQL); err != nil {
			return fmt.Errorf("mysql: %w", t.noticed(err))
		}
	}
	if err := t.room(); err != nil {
		return fmt.Errorf("mysql: %w", err)
	}
	if err := t.sleeper.wrong(); err != nil {
		return fmt.Errorf("mysql: %w", err)
	}
	return nil
}
