package selftest

import (
	"context"
	"fmt"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Swapper is a ledger.Table, or what is tried of it.
type Swapper interface {
	Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error)
}

// TakeLock has node take a lock that nobody else uses and give it back, for the doctor.
func TakeLock(ctx context.Context, t Swapper, node string) (backend.Finding, error) {
	name := "lockgw:doctor:" + node
	begin := time.Now()
	next, effects := ledger.Step(ledger.Record{}, ledger.Op{Node: node, Want: 1, Turns: 1, TTL: 3 * time.Second}, 0)
	r, err := t.Swap(ctx, ledger.Swap{Name: name, Record: next, Effects: effects})
	took := time.Since(begin)
	if h := r.Record.Firm(node); err == nil && r.Written && h != nil {
		begin = time.Now()
		next, effects = ledger.Step(r.Record, ledger.Op{Verb: ledger.Leave, Node: node, Hold: h.ID}, 0)
		_, err = t.Swap(ctx, ledger.Swap{Name: name, Base: r.Version, Record: next, Effects: effects})
	}
	const fine = 10 * time.Microsecond
	return backend.Finding{Check: "lock", Detail: fmt.Sprintf("taken in %v and given back in %v", took.Round(fine), time.Since(begin).Round(fine))}, err
}
