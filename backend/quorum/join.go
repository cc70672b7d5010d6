package quorum

import (
	"context"

	"github.com/lockgw/lockgw/backend/ledger"
)

// Join puts e into the queue of a name: it looks and swaps, until nobody else has written between.
func Join(ctx context.Context, name string, e ledger.Entry, look func(context.Context, string) (ledger.Reply, error),
	swap func(context.Context, ledger.Swap) (ledger.Reply, error),
) (ledger.Reply, error) {
	seen, err := look(ctx, name)
	for err == nil {
		next := ledger.Row{Record: seen.Record}
		ms, ok := next.Join(e, "")
		if !ok {
			return seen, nil
		}
		base := seen.Version
		seen, err = swap(ctx, ledger.Swap{Name: name, Base: base, Record: next.Record, Effects: ledger.Effects{Messages: ms}})
		if seen.Written {
			seen.Written = false // that is of a Swap
			return seen, err
		}
	}
	return ledger.Reply{}, err
}
