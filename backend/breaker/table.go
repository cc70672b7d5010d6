package breaker

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/lockgw/lockgw/backend/gate"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Part tells where a name is now, in few words, for each is remembered.
type Part func(ctx context.Context, name string) string

// table is a Table with a circuit for each part of the store.
type table struct {
	ledger.Table
	log  *slog.Logger
	look *lookout

	mu  sync.Mutex // guards the field below
	all map[string]*circuit
}

// New gates the new locks of t; see package gate. ping asks the store how it is, and takes no lock
// for that.
func New(t ledger.Table, ping func(ctx context.Context) error, log *slog.Logger) ledger.Table {
	return Parts(t, func(context.Context, string) string { return "" }, ping, log)
}

// Parts is New for a store of which a part may fail alone, as a master of a
// Redis Cluster: the names of the other parts are not gated then.
func Parts(t ledger.Table, part Part, ping func(ctx context.Context) error, log *slog.Logger) ledger.Table {
	b := &table{log: log, all: map[string]*circuit{}}
	b.look = newLookout(ping, b.answered)
	b.Table = gate.New(t, func(ctx context.Context, name string) (func(error), error) {
		return b.of(part(ctx, name)).allow(ctx)
	})
	return b
}

func (b *table) of(part string) *circuit {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.all[part]
	if c == nil {
		log := b.log
		if part != "" {
			log = log.With("server", part)
		}
		c = newCircuit(b.look, log)
		b.all[part] = c
	}
	return c
}

// answered closes what is not closed.
func (b *table) answered() {
	b.mu.Lock()
	all := slices.Collect(maps.Values(b.all))
	b.mu.Unlock()
	for _, c := range all {
		c.answered()
	}
}

// Close implements ledger.Table.
func (b *table) Close() error {
	b.look.stop()
	return b.Table.Close()
}
