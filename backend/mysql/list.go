package mysql

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

func (t *Table) list(ctx context.Context, prefix, after string, limit int) (sqltable.Rows, error) {
	got, err := t.requests.query(ctx, listSQL, []byte(prefix), []byte(prefix+"\xff"), []byte(after), limit)
	if err != nil {
		return nil, t.noticed(err)
	}
	slices.SortFunc(got[0], func(a, b [][]byte) int { return bytes.Compare(a[0], b[0]) })
	return got[0], nil
}

// rows are those of one statement.
func (t *Table) rows(ctx context.Context, sql string, args ...any) (sqltable.Rows, error) {
	got, err := t.requests.query(ctx, sql, args...)
	if err != nil || len(got) == 0 { // it tells none
		return nil, t.noticed(err)
	}
	return got[0], nil
}

// goneTogether is how many rows one request deletes at most, so that it holds up nobody for long.
const goneTogether = 100

// sweep goes on as long as there are more rows than it looks for at once, and ctx lasts.
func (t *Table) sweep(ctx context.Context, idle time.Duration) error {
	for _, sql := range leftSQL {
		if err := t.requests.do(ctx, sql); err != nil {
			return t.noticed(err)
		}
	}
	listening, err := t.listening(ctx)
	for last, more := "", err == nil; more; {
		last, more, err = t.sweepSome(ctx, idle.Microseconds(), last, listening)
		more = more && err == nil
	}
	return err
}

// listening are the nodes that do.
func (t *Table) listening(ctx context.Context) (nodes map[string]bool, err error) {
	rows, err := t.rows(ctx, listeningSQL)
	nodes = map[string]bool{}
	for _, row := range rows {
		nodes[sqltable.NewReader(row).Text()] = true
	}
	return nodes, err
}

// idleRow is a row that goes, unless it changes before.
type idleRow struct {
	name, ends string
	version    int64
}

// sweepSome deletes rows behind that of after that nobody has used for us microseconds, and says how far
// it came, and whether there may be more: some of those that it looks at stay, as those in whose queue
// one of listening is, for a quarantine may last longer. It has fences of rows that come later begin above
// those that go: mark is written first.
func (t *Table) sweepSome(ctx context.Context, us int64, after string, listening map[string]bool) (last string, more bool, err error) {
	rows, err := t.rows(ctx, idleSQL, us, us, []byte(after), sqltable.SweepMost)
	if err != nil {
		return "", false, err
	}
	var gone []idleRow
	top := backend.Fence(0)
	for _, row := range rows {
		r := sqltable.NewReader(row)
		g := idleRow{name: r.Text(), version: r.Number()}
		last = g.name
		record, err := ledger.Decode([]byte(r.Text()))
		g.ends = r.Text()
		now := r.Number()
		waits := func(e ledger.Entry) bool { return listening[e.Node] }
		if err != nil || r.Err != nil || !allOver(&record, g.ends, now-us) || slices.ContainsFunc(record.Queue, waits) {
			continue
		}
		gone, top = append(gone, g), max(top, record.Top)
	}
	if len(gone) > 0 {
		if err := t.requests.do(ctx, markSQL, int64(top)); err != nil {
			return "", false, t.noticed(err)
		}
	}
	return last, len(rows) == sqltable.SweepMost && last > after, t.noticed(t.deletes(ctx, gone))
}

// deletes has several rows go together, for each commit waits for the disk; in the order of their
// names, lest two gateways wait for each other.
func (t *Table) deletes(ctx context.Context, gone []idleRow) error {
	slices.SortFunc(gone, func(a, b idleRow) int { return strings.Compare(a.name, b.name) })
	for len(gone) > 0 {
		var s statement
		s.add(begin)
		n, size := 0, 0
		for ; n < min(len(gone), goneTogether) && size < maxPacket/8; n++ {
			g := gone[n]
			s.add(goneSQL+";\n", []byte(g.name), g.version, []byte(g.ends))
			size += len(g.ends)
		}
		s.add("COMMIT")
		if err := again(ctx, func() error {
			_, err := t.requests.query(ctx, s.sql.String(), s.args...)
			return err
		}); err != nil {
			return err
		}
		gone = gone[n:]
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
