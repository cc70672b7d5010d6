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

// Allow lets the store be asked for something new under name, and is told what came of it
// by done, or returns an ErrRefused.
type Allow func(ctx context.Context, name string) (done func(err error), refused error)

// gate is a Table of which new locks are asked as allow says.
type gate struct {
	ledger.Table
	allow Allow

	mu sync.Mutex // guards the field below
	// open are the names of which a write that grants got no answer. It may be carried out
	// still, and what it grants would lie idle until its node has found out.
	open map[string]struct{}
}

// New passes everything on to t, and new locks as allow says: writes that grant what was
// not offered to the node, and joins of the queue.
func New(t ledger.Table, allow Allow) ledger.Table {
	return &gate{Table: t, allow: allow, open: map[string]struct{}{}}
}

// Swap implements ledger.Table.
func (g *gate) Swap(ctx context.Context, s ledger.Swap) (r ledger.Reply, err error) {
	if !s.Effects.Grants || s.Effects.Taken || g.isOpen(s.Name) {
		return g.swap(ctx, s)
	}
	done, err := g.allow(ctx, s.Name)
	if err != nil {
		return ledger.Reply{}, err
	}
	outcome := backend.ErrDefect
	defer func() { done(outcome) }()
	r, outcome = g.swap(ctx, s)
	return r, outcome
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
	done, err := g.allow(ctx, name)
	if err != nil {
		return ledger.Reply{}, err
	}
	outcome := backend.ErrDefect
	defer func() { done(outcome) }()
	r, outcome = g.Table.Join(ctx, name, e, floor)
	return r, outcome
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
