// Package selftest tries the compare-and-set of a store before locks are granted by it.
//
// What stands between a client and its store may answer that a write was carried out
// without having compared anything: a service that is only said to be compatible, a proxy
// that repeats requests, a rule or a trigger in a database. Then two gateways hold the same
// lock. So a store is asked to write, and then to carry out writes that it has to refuse.
package selftest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Store is what is tried of a ledger.Table, perhaps before that may be used.
type Store struct {
	Look func(ctx context.Context, name string) (ledger.Reply, error)
	Swap func(ctx context.Context, s ledger.Swap) (ledger.Reply, error)
}

// Name of the record by which node tries its store. No lock is called so.
func Name(node string) string { return "lockgw:selftest:" + node }

// tries bounds how often the test begins anew because a second process of the same node is
// at it, too.
const tries = 3

// ErrUnsound: the store has carried out what it had to refuse, or has not done what it said.
var ErrUnsound = fmt.Errorf("%w: its compare-and-set does not work, so that two gateways could hold the same lock", backend.ErrRefused)

// Run tries s under the name of node. backend.ErrRefused: s does what it has to refuse, or
// not what it has to do, and must not be used, which ErrUnsound says for sure; any other error is that of a request, and
// says nothing. Nothing is granted, so that it can be run during a quarantine, and the
// record is left without holds.
func Run(ctx context.Context, s Store, node string) error {
	err := trial{Store: s, name: Name(node)}.undisturbed(ctx)
	if !errors.Is(err, ErrUnsound) {
		return err
	}
	// As when another server has taken over, which had not heard of it. What does not compare does
	// so again, be it where there is no record yet, or where there is one.
	for _, name := range []string{Name(node) + ":" + rand.Text(), Name(node)} {
		if err = (trial{Store: s, name: name}).undisturbed(ctx); err != nil {
			break
		}
	}
	return err
}

// undisturbed runs it until nobody else is at it.
func (t trial) undisturbed(ctx context.Context) error {
	for range tries {
		disturbed, err := t.run(ctx)
		if err != nil || !disturbed {
			return err
		}
	}
	return fmt.Errorf("%w: its compare-and-set could not be tried, for somebody else writes %s all the time: is there another gateway with the same state_dir?",
		backend.ErrRefused, t.name)
}

type trial struct {
	Store
	name string
}

// lease of the hold that is kept in the record for as long as the test lasts.
const lease = 30 * time.Second

func (t trial) run(ctx context.Context) (disturbed bool, err error) {
	first, err := t.Look(ctx, t.name)
	if err != nil {
		return false, err
	}
	held := ledger.Record{Top: first.Record.Top + 1}
	held.Holds = []ledger.Hold{{Mode: backend.Exclusive, Count: 1, ID: held.Top}}
	write := ledger.Swap{Name: t.name, Base: first.Version, Record: held, Effects: ledger.Effects{Stamps: []ledger.Stamp{{ID: held.Top, TTL: lease}}}}
	wrote, err := t.Swap(ctx, write)
	if err != nil || !wrote.Written {
		return err == nil, err
	}
	there, err := t.Look(ctx, t.name)
	switch {
	case err != nil:
		return false, err
	case there.Version != wrote.Version:
		return true, nil
	case wrote.Version == first.Version || !there.Record.Same(&wrote.Record) || len(there.Record.Holds) != 1 || there.Record.Holds[0].End <= 0:
		return false, refused("it says that a record was written, and then has another one")
	}

	// The same once more: the version that it names is gone.
	if again, err := t.Swap(ctx, write); err != nil {
		return false, err
	} else if again.Written {
		return false, refused("it has put a record in the place of another one than that which the request named")
	}

	// And one which says that the hold is over, which it is not.
	free := ledger.Swap{Name: t.name, Base: there.Version, Record: ledger.Record{Top: there.Record.Top}}
	early := free
	early.Effects.Ended = []backend.Fence{there.Record.Holds[0].ID}
	if ended, err := t.Swap(ctx, early); err != nil {
		return false, err
	} else if ended.Written {
		return false, refused("it has ended a lease before its time")
	}

	last, err := t.Swap(ctx, free)
	return err == nil && !last.Written, err
}

func refused(what string) error {
	return fmt.Errorf("%w: %s", ErrUnsound, what)
}
