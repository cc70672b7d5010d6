package redis

import (
	"context"
	"log/slog"

	"github.com/lockgw/lockgw/backend/gate"
	"github.com/lockgw/lockgw/backend/ledger"
)

// TableGate refuses new locks while the Redis server may drop them, and until it has
// said for the first time whether it may. Everything else passes; see package gate.
type TableGate struct {
	ledger.Table
	*eviction
}

var _ ledger.Table = (*TableGate)(nil)

// NewTableGate gates t, whose server answers ask as Table.Eviction does. It asks nothing
// before Check or Listen.
func NewTableGate(t ledger.Table, ask func(context.Context) (Eviction, error), log *slog.Logger) *TableGate {
	e := newEviction(ask, log)
	return &TableGate{gate.New(t, e.allow), e}
}

// allow implements gate.Allow.
func (e *eviction) allow(context.Context, string) (func(error), error) {
	return func(error) {}, e.refusal()
}

// Ping implements ledger.Table.
func (g *TableGate) Ping(ctx context.Context) error { return g.ping(g.Table.Ping(ctx)) }

// Listen implements ledger.Table.
func (g *TableGate) Listen(f func(ledger.Addressed)) {
	g.start()
	g.Table.Listen(func(m ledger.Addressed) {
		if m.Kind == ledger.Resync {
			g.reconnected()
		}
		f(m)
	})
}

// Close implements ledger.Table.
func (g *TableGate) Close() error {
	g.stop()
	return g.Table.Close()
}
