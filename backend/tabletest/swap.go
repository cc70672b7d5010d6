package tabletest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

func (e *env) swap() {
	got := e.want(e.a, backend.Exclusive, 1)
	e.is(got, "a |")
	if got.Version == "" {
		e.Error("a record that was written has no version")
	}
	e.lasts(got, e.a, 30*time.Second)
	there := e.look(e.b)
	e.is(there, "a |")
	e.lasts(there, e.a, 30*time.Second)
	if there.Version != got.Version || !there.Record.Same(&got.Record) {
		e.Errorf("b sees %+v, a wrote %+v", there, got)
	}
	after := e.leave(e.a)
	e.is(after, "|")
	if after.Version != "" && after.Record.Top < got.Record.Top {
		e.Errorf("the newest fence went from %d to %d", got.Record.Top, after.Record.Top)
	}
	e.is(e.want(e.b, backend.Exclusive, 1), "b |")
}

func (e *env) swapLost() {
	seen := e.look(e.a)
	late := e.step(e.a, seen, ledger.Op{Want: 1})
	first := e.want(e.b, backend.Exclusive, 1)
	r, err := e.a.Swap(e.ctx(), late)
	if err != nil || r.Written {
		e.Fatalf("written over another version: %+v, %v", r, err)
	}
	e.is(r, "b |")
	e.lasts(r, e.b, 30*time.Second)
	if r.Version != first.Version {
		e.Errorf("told version %q, there is %q", r.Version, first.Version)
	}
	// The same base twice: the second is late.
	leave := e.step(e.b, e.look(e.b), ledger.Op{Verb: ledger.Leave, Hold: first.Record.Firm(e.b.id).ID})
	if r, err := e.b.Swap(e.ctx(), leave); err != nil || !r.Written {
		e.Fatalf("%+v, %v", r, err)
	}
	if r, err := e.b.Swap(e.ctx(), leave); err != nil || r.Written {
		e.Fatalf("the same write was carried out twice: %+v, %v", r, err)
	}
}

func (e *env) versions() {
	seen := map[ledger.Version]bool{}
	for range 20 {
		for _, r := range []ledger.Reply{e.want(e.a, backend.Exclusive, 1), e.leave(e.a)} {
			if r.Version != "" && seen[r.Version] {
				e.Fatalf("version %q was used twice", r.Version)
			}
			seen[r.Version] = true
		}
	}
	// Nor by a table that is opened later.
	c := e.node("c")
	if r := e.want(c, backend.Exclusive, 1); seen[r.Version] {
		e.Fatalf("version %q was used twice", r.Version)
	}
}

// race: every write that was carried out is in the record.
func (e *env) race() {
	const writers, each = 6, 20
	var wg sync.WaitGroup
	for i := range writers {
		n := e.node(string(rune('c' + i)))
		wg.Go(func() {
			for done := 0; done < each; {
				seen, err := n.Look(e.ctx(), e.name)
				if err != nil {
					e.Error(err)
					return
				}
				s := ledger.Swap{Name: e.name, Base: seen.Version, Record: seen.Record.Clone(), Absolute: true}
				s.Record.Top++
				if len(s.Record.Queue) == 0 { // an empty record may be dropped
					s.Record.Queue = []ledger.Entry{{Node: n.id, Want: 1}}
				}
				r, err := n.Swap(e.ctx(), s)
				if err != nil {
					e.Error(err)
					return
				}
				if r.Written {
					done++
				}
			}
		})
	}
	wg.Wait()
	if got := e.look(e.a).Record.Top; got != writers*each {
		e.Errorf("%d writes were told to be carried out, %d are in the record", writers*each, got)
	}
}

// evict: nothing is deleted of which nobody knows what it is.
func (e *env) evict() {
	e.want(e.a, backend.Exclusive, 1)
	seen := e.look(e.b)
	if seen.Seen != "" {
		e.Errorf("a hold of lockgw is seen as one of somebody else: %q", seen.Seen)
	}
	s := ledger.Swap{Name: e.name, Base: seen.Version, Record: ledger.Record{Top: seen.Record.Top}, Effects: ledger.Effects{Evicts: true}}
	if r, err := e.b.Swap(e.ctx(), s); !errors.Is(err, backend.ErrConflict) {
		e.Errorf("written as %+v, %v", r, err)
	}
	if now := e.look(e.b); now.Version != seen.Version || !now.Record.Same(&seen.Record) {
		e.Errorf("there was %+v, then %+v", seen, now)
	}
}

// canceled: what was given up before it was sent is refused or unknown, never told as done.
func (e *env) canceled() {
	ctx, cancel := context.WithCancel(e.Context())
	cancel()
	s := e.step(e.a, e.look(e.a), ledger.Op{Want: 1})
	r, err := e.a.Swap(ctx, s)
	switch {
	case err == nil: // a store that asks nobody may do it all the same
		if there := e.look(e.b); r.Written != (there.Version == r.Version && there.Record.Firm(e.a.id) != nil) {
			e.Errorf("told %+v, there is %+v", r, there)
		}
	case !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrRefused):
		e.Errorf("the error is %v", err)
	}
}

func (e *env) fences() {
	before := backend.Fence(time.Now().Add(-time.Hour).UnixMicro())
	if h := e.granted(e.a); h.ID < before || h.ID > 1<<52 {
		e.Errorf("a new record begins with fence %d, not with the store's clock", h.ID)
	}
	e.name += ":floor"
	s := e.step(e.a, e.look(e.a), ledger.Op{Want: 1, Turns: 64})
	s.Floor = 1 << 52 // no clock is there yet
	r, err := e.a.Swap(e.ctx(), s)
	if err != nil || !r.Written {
		e.Fatalf("%+v, %v", r, err)
	}
	h := r.Record.Firm(e.a.id)
	if h.ID <= s.Floor || h.Block != h.ID || r.Record.Top != h.ID+63 {
		e.Errorf("above %d the record begins with %+v, the newest fence is %d", s.Floor, h, r.Record.Top)
	}
	e.name += ":absolute"
	back := ledger.Record{Top: 500, Holds: []ledger.Hold{{Node: e.a.id, Count: 1, ID: 437, Block: 437}}}
	r, err = e.a.Swap(e.ctx(), ledger.Swap{
		Name: e.name, Record: back, Absolute: true, Effects: ledger.Effects{Stamps: []ledger.Stamp{{ID: 437, TTL: 30 * time.Second}}},
	})
	if err != nil || !r.Written || r.Record.Firm(e.a.id).ID != 437 || r.Record.Top != 500 {
		e.Errorf("a hold that was forgotten came back as %+v, %v", r, err)
	}
	e.lasts(e.look(e.b), e.a, 30*time.Second)
}
