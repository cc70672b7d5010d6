package tabletest

import (
	"context"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Checked is a Table that asks Before ahead of each request. An error of Before is the
// answer, and the request is not carried out.
type Checked struct {
	ledger.Table
	Before func(context.Context, Asked) error
}

// Asked is a request to a Table.
type Asked struct {
	Verb string // swap, join, look, renew, send, list or ping
	Name string // of the lock; "" of a request that is not about one
	Swap *ledger.Swap
}

// New: something new is asked for, a grant or a place in the queue.
func (a Asked) New() bool { return a.Verb == "join" || a.Swap != nil && a.Swap.Effects.Grants }

// GivesBack: it is a write that grants nothing.
func (a Asked) GivesBack() bool { return a.Swap != nil && !a.Swap.Effects.Grants }

// Swap implements ledger.Table, as do the others.
func (c *Checked) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	if err := c.Before(ctx, Asked{"swap", s.Name, &s}); err != nil {
		return ledger.Reply{}, err
	}
	return c.Table.Swap(ctx, s)
}

func (c *Checked) Join(ctx context.Context, name string, e ledger.Entry, floor backend.Fence) (ledger.Reply, error) {
	if err := c.Before(ctx, Asked{Verb: "join", Name: name}); err != nil {
		return ledger.Reply{}, err
	}
	return c.Table.Join(ctx, name, e, floor)
}

func (c *Checked) Look(ctx context.Context, name string) (ledger.Reply, error) {
	if err := c.Before(ctx, Asked{Verb: "look", Name: name}); err != nil {
		return ledger.Reply{}, err
	}
	return c.Table.Look(ctx, name)
}

func (c *Checked) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {
	if err := c.Before(ctx, Asked{Verb: "renew"}); err != nil {
		return nil, err
	}
	return c.Table.Renew(ctx, rs)
}

func (c *Checked) Send(ctx context.Context, ms []ledger.Addressed) error {
	if err := c.Before(ctx, Asked{Verb: "send"}); err != nil {
		return err
	}
	return c.Table.Send(ctx, ms)
}

func (c *Checked) List(ctx context.Context, prefix, cursor string, limit int) ([]ledger.Named, string, error) {
	if err := c.Before(ctx, Asked{Verb: "list"}); err != nil {
		return nil, "", err
	}
	return c.Table.List(ctx, prefix, cursor, limit)
}

func (c *Checked) Ping(ctx context.Context) error {
	if err := c.Before(ctx, Asked{Verb: "ping"}); err != nil {
		return err
	}
	return c.Table.Ping(ctx)
}
