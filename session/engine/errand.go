package engine

import (
	"context"
	"errors"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// Turn is a caller who is about to hear that the name is theirs.
type Turn interface {
	// Take has the caller hear of it. It must not block, and is not called with the name locked.
	Take()
}

// Errand is what is left to whoever has changed a name, once it is not locked any more: a
// caller whose turn it is, and a request to the store.
type Errand struct {
	n     *Name
	turn  Turn               // nil: none, or told
	q     *contender.Request // nil: none
	cause Path
}

// Tell has the caller hear whose turn it is, before Do and Launch do: on this goroutine, for one
// that would have to be woken first takes longer than all the rest.
func (r *Errand) Tell() {
	if r == nil || r.turn == nil {
		return
	}
	t := r.turn
	r.turn = nil
	t.Take()
}

// Do brings the request to the store and the answer back, which takes Config.Timeout at
// most: the end of ctx does not end it, for the answer is not the caller's alone. A
// defect of the store counts as no answer. It is called once, or Launch is; on nil it
// does nothing.
func (r *Errand) Do(ctx context.Context) {
	r.Tell()
	if r == nil || r.q == nil {
		return
	}
	n, e := r.n, r.n.e
	defer e.wg.Done()
	reply, err := ledger.Reply{}, backend.ErrDefect
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

// Launch has a goroutine of its own do that.
func (r *Errand) Launch() {
	if r != nil && (r.turn != nil || r.q != nil) {
		go r.Do(context.Background())
	}
}

// noAnswer is err, unless it is an answer.
func noAnswer(err error) error {
	if errors.Is(err, backend.ErrNotHeld) {
		return nil
	}
	return err
}
