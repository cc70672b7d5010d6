// Package gate stands before a Table and decides about new locks alone. What is held is
// renewed and given back, what was passed on is taken, and what may have been granted
// already is found out, whatever the gate says.
package gate

import (
	"context"
	"errors"
	"sync"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Decide runs ask, which asks the store for something new under name, or returns an
// ErrRefused without it.
type Decide func(ctx context.Context, name string, ask func() error) error

// gate is a Table of which new locks are asked as decide says.
type gate struct {
	ledger.Table
	decide Decide

	mu sync.Mutex // guards the field below
	// open are the names of which a write that grants got no answer. It may be carried out
	// still, and what it grants would lie idle until its node has found out.
	open map[string]struct{}
}

// New passes everything on to t, and new locks as decide says: writes that grant what was
// not offered to the node, and joins of the queue.
func New(t ledger.Table, decide Decide) ledger.Table {
	return &gate{Table: t, decide: decide, open: map[string]struct{}{}}
}

// Swap implements ledger.Table.
func (g *gate) Swap(ctx context.Context, s ledger.Swap) (r ledger.Reply, err error) {
	if !s.Effects.Grants || s.Effects.Taken || g.isOpen(s.Name) {
		return g.swap(ctx, s)
	}
	err = g.decide(ctx, s.Name, func() error {
		r, err = g.swap(ctx, s)
		return err
	})
	return r, err
}

// swap notes whether the outcome of a write of the name is unknown.
func (g *gate) swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	r, err := g.Table.Swap(ctx, s)
	switch {
	case err == nil && (r.Written || r.Version != s.Base):
		g.mark(s.Name, false) // nothing that was sent before can be carried out any more
	case err != nil && !errors.Is(err, backend.ErrRefused) && s.Effects.Grants:
		g.mark(s.Name, true)
	}
	return r, err
}

// Join implements ledger.Table.
func (g *gate) Join(ctx context.Context, name string, e ledger.Entry, floor backend.Fence) (r ledger.Reply, err error) {
	err = g.decide(ctx, name, func() error {
		r, err = g.Table.Join(ctx, name, e, floor)
		return err
	})
	return r, err
}

func (g *gate) isOpen(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	_, open := g.open[name]
	return open
}

func (g *gate) mark(name string, open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if open {
		g.open[name] = struct{}{}
	} else {
		delete(g.open, name)
	}
}
