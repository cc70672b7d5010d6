package redis

import (
	"context"

	"github.com/lockgw/lockgw/backend/ledger"
)

// List implements ledger.Table. A name that nobody uses is left out.
func (t *Table) List(ctx context.Context, prefix, cursor string, limit int) ([]ledger.Named, string, error) {
	l := &listing[ledger.Named]{
		site: t.site, pattern: recordPattern, raw: rawOfRecord, prefix: prefix,
		read: func(name string) (ledger.Named, bool, error) {
			r, err := t.Look(ctx, name)
			return ledger.Named{Name: name, Reply: r}, len(r.Record.Holds)+len(r.Record.Queue) > 0, err
		},
	}
	next, err := l.list(ctx, cursor, limit)
	return l.found, next, err
}
