package ledger

import "context"

// JoinBySwap is Join of a Table that has nothing better: it looks and swaps, until nobody else has
// written between.
func JoinBySwap(ctx context.Context, name string, e Entry, look func(context.Context, string) (Reply, error),
	swap func(context.Context, Swap) (Reply, error),
) (Reply, error) {
	seen, err := look(ctx, name)
	for err == nil {
		next := Row{Record: seen.Record}
		ms, ok := next.Join(e, "")
		if !ok {
			return seen, nil
		}
		base := seen.Version
		seen, err = swap(ctx, Swap{Name: name, Base: base, Record: next.Record, Effects: Effects{Messages: ms}})
		if seen.Written {
			seen.Written = false // that is of a Swap
			return seen, err
		}
	}
	return Reply{}, err
}
