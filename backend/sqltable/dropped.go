package sqltable

import (
	"context"
	"fmt"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// drops is how often in a row a write is dropped before that is told. Once may be because of what has
// changed before the row was looked at: a lease was over, or the run of the server was trusted.
const drops = 3

// carryOut is Swap of the Database. What the server does not store, though the row is as s wants it
// and no error says why, it would not store the next time either: who asks has to hear of it, or would
// ask again at once, and for ever.
func (t *Table) carryOut(ctx context.Context, s ledger.Swap, run Run) (r ledger.Reply, trusted bool, err error) {
	for range drops {
		r, trusted, err = t.db.Swap(ctx, s, run)
		if err != nil || !trusted || r.Written || !s.Fits(&r) {
			return r, trusted, err
		}
	}
	return ledger.Reply{}, true, fmt.Errorf("%w: %s does not store what is written about %s, and does not say why: remove the trigger, rule or policy on the table %s that drops it",
		backend.ErrRefused, t.db.Product, s.Name, t.db.Names)
}
