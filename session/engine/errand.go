package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// Errand is a request to the store that a caller carries.
type Errand struct {
	n     *Name
	q     *contender.Request
	cause Path
}

// Do brings the request to the store and the answer back, which takes Config.Timeout at
// most: the end of ctx does not end it, for the answer is not the caller's alone. A
// defect of the store counts as no answer. It is called once, or Launch is; on nil it
// does nothing.
func (r *Errand) Do(ctx context.Context) {
	if r == nil {
		return
	}
	n, e := r.n, r.n.e
	defer e.wg.Done()
	reply, err := ledger.Reply{}, errDefect
	defer func() { n.answered(r.cause, reply, err) }()
	ctx = e.limit.bound(ctx)
	switch q := r.q; {
	case q.Swap != nil:
		s := *q.Swap
		s.Name = n.name
		reply, err = e.table.Swap(ctx, s)
	case q.Join != nil:
		reply, err = e.table.Join(ctx, n.name, *q.Join, q.Floor)
	default:
		reply, err = e.table.Look(ctx, n.name)
	}
}

// Launch has a goroutine of its own carry the request.
func (r *Errand) Launch() {
	if r != nil {
		go r.Do(context.Background())
	}
}

var errDefect = fmt.Errorf("%w: a defect of the gateway", backend.ErrUnavailable)

// noAnswer is err, unless it is an answer.
func noAnswer(err error) error {
	if errors.Is(err, backend.ErrNotHeld) {
		return nil
	}
	return err
}
