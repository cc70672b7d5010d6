package instrument

import (
	"context"

	"github.com/lockgw/lockgw/backend"
)

// operation is a method of backend.Backend that asks the store.
type operation int

const (
	opAcquire operation = iota
	opConfirm
	opExtend
	opRelease
	opCancel
	opReclaim
	opBreak
	opPromote
	opDescribe
	opRenew
	opInspect
	opList
	opPing

	operations
)

var operationNames = [operations]string{
	"acquire", "confirm", "extend", "release", "cancel", "reclaim", "break", "promote", "describe",
	"renew", "inspect", "list", "ping",
}

func (o operation) String() string { return operationNames[o] }

var _ backend.Backend = (*instrumented)(nil)

type question func(context.Context, backend.Request) (backend.Answer, error)

func (i *instrumented) ask(ctx context.Context, op operation, r backend.Request, q question) (backend.Answer, error) {
	ctx, c := i.begin(ctx, op, r.Name)
	a, err := q(ctx, r)
	c.end(ctx, err)
	return a, err
}

// Acquire implements backend.Backend, as do the others.
func (i *instrumented) Acquire(ctx context.Context, r backend.Request) (backend.Answer, error) {
	return i.ask(ctx, opAcquire, r, i.Backend.Acquire)
}

func (i *instrumented) Confirm(ctx context.Context, r backend.Request) (backend.Answer, error) {
	return i.ask(ctx, opConfirm, r, i.Backend.Confirm)
}

func (i *instrumented) Extend(ctx context.Context, r backend.Request) (backend.Answer, error) {
	return i.ask(ctx, opExtend, r, i.Backend.Extend)
}

func (i *instrumented) Release(ctx context.Context, r backend.Request) (backend.Answer, error) {
	return i.ask(ctx, opRelease, r, i.Backend.Release)
}

func (i *instrumented) Reclaim(ctx context.Context, r backend.Request) (backend.Answer, error) {
	return i.ask(ctx, opReclaim, r, i.Backend.Reclaim)
}

func (i *instrumented) Break(ctx context.Context, r backend.Request) (backend.Answer, error) {
	return i.ask(ctx, opBreak, r, i.Backend.Break)
}

func (i *instrumented) Cancel(ctx context.Context, r backend.Request) error {
	ctx, c := i.begin(ctx, opCancel, r.Name)
	err := i.Backend.Cancel(ctx, r)
	c.end(ctx, err)
	return err
}

func (i *instrumented) Describe(ctx context.Context, r backend.Request) error {
	ctx, c := i.begin(ctx, opDescribe, r.Name)
	err := i.Backend.Describe(ctx, r)
	c.end(ctx, err)
	return err
}

func (i *instrumented) Promote(ctx context.Context, name string) (backend.Answer, error) {
	ctx, c := i.begin(ctx, opPromote, name)
	a, err := i.Backend.Promote(ctx, name)
	c.end(ctx, err)
	return a, err
}

func (i *instrumented) Renew(ctx context.Context, rs []backend.Renewal) ([]error, error) {
	ctx, c := i.begin(ctx, opRenew, "")
	errs, err := i.Backend.Renew(ctx, rs)
	c.end(ctx, err)
	return errs, err
}

func (i *instrumented) Inspect(ctx context.Context, name string) (backend.Status, error) {
	ctx, c := i.begin(ctx, opInspect, name)
	st, err := i.Backend.Inspect(ctx, name)
	c.end(ctx, err)
	return st, err
}

func (i *instrumented) List(ctx context.Context, prefix, cursor string, limit int) ([]backend.Status, string, error) {
	ctx, c := i.begin(ctx, opList, "")
	names, next, err := i.Backend.List(ctx, prefix, cursor, limit)
	c.end(ctx, err)
	return names, next, err
}

func (i *instrumented) Ping(ctx context.Context) error {
	ctx, c := i.begin(ctx, opPing, "")
	err := i.Backend.Ping(ctx)
	c.end(ctx, err)
	return err
}
