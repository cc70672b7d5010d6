// Package floor has the fences of a store begin above those of the store that was used
// before it.
package floor

import (
	"context"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Ahead is added to the newest fence of a store that is left. A name that has not been used
// for a minute is forgotten, and its fences may have been ahead of the clock, since blocks of
// them are reserved: by less than a day, unless more than two million fences were reserved in
// every second of a day.
const Ahead = 24 * time.Hour

// Above is a number above those fences that were reserved in blocks while newest was the newest.
func Above(newest backend.Fence) backend.Fence { return newest + backend.Fence(Ahead.Microseconds()) }

// New has the fences of each name that t does not know begin above least.
func New(t ledger.Table, least backend.Fence) ledger.Table { return &table{t, least} }

type table struct {
	ledger.Table
	least backend.Fence
}

// Swap implements ledger.Table.
func (t *table) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	s.Floor = max(s.Floor, t.least)
	return t.Table.Swap(ctx, s)
}

// Join implements ledger.Table.
func (t *table) Join(ctx context.Context, name string, e ledger.Entry, floor backend.Fence) (ledger.Reply, error) {
	return t.Table.Join(ctx, name, e, max(floor, t.least))
}

// Keeper is a Table that knows the newest fence of all records, those that it has deleted
// and those of other prefixes with them.
type Keeper interface {
	Newest(ctx context.Context) (backend.Fence, error)
}

// Of is a number above every fence that t has given: New takes it for the store that comes
// after t. No gateway may use t any more when that begins. backend.ErrUnavailable and
// backend.ErrPartly: what t knows could not be read, or not all of it, by the end of ctx.
func Of(ctx context.Context, t ledger.Table, now time.Time) (backend.Fence, error) {
	newest := backend.Fence(now.UnixMicro())
	if k, ok := t.(Keeper); ok {
		ever, err := k.Newest(ctx)
		if err != nil {
			return 0, err
		}
		newest = max(newest, ever)
	}
	for cursor := ""; ; {
		rows, next, err := t.List(ctx, "", cursor, 1000)
		if err != nil {
			return 0, err
		}
		for _, r := range rows {
			newest = max(newest, r.Record.Top, backend.Fence(max(r.Clock, 0)))
		}
		if cursor = next; cursor == "" {
			return Above(newest), nil
		}
	}
}
