package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Break ends by force the hold of another node that has this fence now, or that of a program
// outside lockgw, whose fence is the newest of the record. Then nobody gets the name for
// delay, or for that of the node that held it alone. It tries again, until ctx is done, if the record changes meanwhile. Each time is looks
// at what is there, and its error is the result.
//
// Turns are not written, and several callers of that node may have the name. So a node that
// answers is told by the record to end the one with the fence, if it has the name still; others
// keep theirs. If the node has not done that within AskTime, all of them lose the name. One that
// gave the name up just before, to the next in turn there, counts as broken: its node does not say.
//
// backend.ErrNotHeld: nobody holds it. backend.ErrFence: nobody does under that fence, but
// for callers of this node perhaps. backend.ErrConflict: what a program outside lockgw has
// under the name is no lock as far as can be told. Nothing was changed then.
// backend.ErrUnavailable: it may be broken all the same.
func (e *Engine) Break(ctx context.Context, lock string, fence backend.Fence, is func(*Answer) error, delay time.Duration) error {
	for {
		a, err := e.Ask(ctx, lock)
		if err == nil {
			err = is(&a)
		}
		if err != nil {
			return err
		}
		if own, ok := e.telling(lock); ok {
			a.Told[own.Node] = own
		}
		op, err := a.breaks(e.cfg.Node, fence)
		if err != nil {
			return fmt.Errorf("%w: %s, fence %d", err, lock, fence)
		}
		written, err := e.breakHold(ctx, lock, a.Reply, op, delay)
		if written && op.Caller != 0 {
			return e.seeEnded(ctx, lock, op, delay)
		}
		if err != nil || written {
			return err
		}
	}
}

// breakHold carries op out, if the record still is as r has it. ErrUnavailable without
// another try: ctx is done.
func (e *Engine) breakHold(ctx context.Context, lock string, r ledger.Reply, op ledger.Op, delay time.Duration) (written bool, err error) {
	op.Node, op.Bar, op.Lapse = e.cfg.Node, delay, true
	op.Turns, op.OfferTTL = e.cfg.Turns, e.cfg.Offer
	if r.Version != "" { // else fences are counted from the store's clock
		op.Floor = backend.Fence(max(r.Clock, 0))
	}
	next, effects := ledger.Step(r.Record, op, 0)
	writing, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	w, err := e.table.Swap(writing, ledger.Swap{Name: lock, Base: r.Version, Record: next, Effects: effects, Seen: r.Seen})
	if err == nil && !w.Written && ctx.Err() != nil {
		err = fmt.Errorf("%w: %s is used by so many that it was not broken in time; nothing was changed", backend.ErrUnavailable, lock)
	}
	return w.Written, err
}

// seeEnded waits for the node of a hold to end that of one caller, as op has told it. If it
// does not within AskTime, the hold ends for all.
func (e *Engine) seeEnded(ctx context.Context, lock string, op ledger.Op, delay time.Duration) error {
	end := e.cfg.Clock() + AskTime
	for pause := time.Millisecond; ; pause *= 2 {
		if !backend.Wait(ctx, pause) {
			return fmt.Errorf("%w: %s will be broken, but that is not done yet", backend.ErrUnavailable, lock)
		}
		looking, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
		r, err := e.table.Look(looking, lock)
		cancel()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(r.Record.Holds, func(h ledger.Hold) bool { return h.ID == op.Hold && slices.Contains(h.Breaks, op.Caller) }) {
			return nil
		}
		if e.cfg.Clock() < end {
			continue
		}
		if written, err := e.breakHold(ctx, lock, r, ledger.Op{Verb: ledger.Break, Hold: op.Hold}, delay); err != nil || written {
			return err
		}
	}
}

// breaks is what ends the hold with that fence, for a node that ends none of its own by it.
func (a *Answer) breaks(node string, fence backend.Fence) (ledger.Op, error) {
	err := backend.ErrNotHeld
	for i := range a.Reply.Record.Holds {
		h := &a.Reply.Record.Holds[i]
		switch {
		case h.Foreign():
			if fence == a.Reply.Record.Top {
				return ledger.Op{Verb: ledger.Break, Foreign: true}, nil
			}
			err = backend.ErrFence
		case h.Node == "" || h.Offered || h.End <= 0:
		default:
			present, held := a.fences(h)
			if h.Node != node && slices.Contains(present, fence) {
				op := ledger.Op{Verb: ledger.Break, Hold: h.ID}
				if _, told := a.Told[h.Node]; told { // by now it may be another's, or others may have it, too
					op.Caller = fence
				}
				return op, nil
			}
			if held {
				err = backend.ErrFence
			}
		}
	}
	return ledger.Op{}, err
}

// fences are those under which callers have h now, as their node says; if it says nothing, as
// it wrote last. held: somebody has it.
func (a *Answer) fences(h *ledger.Hold) (fences []backend.Fence, held bool) {
	callers := h.Callers
	t, ok := a.Told[h.Node]
	if ok {
		callers = t.Callers
	}
	for _, c := range callers {
		if c.Fence != 0 { // else it is the next one
			fences = append(fences, c.Fence)
		}
	}
	if !ok && len(fences) == 0 {
		fences = []backend.Fence{h.ID, a.Reply.Record.Top}
	}
	return fences, !ok || t.Holds > 0
}
