package instrument

import (
	"context"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// operation is a method of ledger.Table that asks the store.
type operation int

const (
	opSwap operation = iota
	opJoin
	opLook
	opRenew
	opSend
	opList
	opPing

	operations
)

var operationNames = [operations]string{"swap", "join", "look", "renew", "send", "list", "ping"}

func (o operation) String() string { return operationNames[o] }

// table is a ledger.Table that is measured.
type table struct {
	ledger.Table
	*recorder
}

// New makes a Table that passes every call on to t and measures it. Metrics go to
// mp, spans to tp.
func New(t ledger.Table, mp metric.MeterProvider, tp trace.TracerProvider) (ledger.Table, error) {
	r, err := newRecorder(t.Info().Type, mp, tp)
	if err != nil {
		return nil, err
	}
	return &table{t, r}, nil
}

// Swap implements ledger.Table, as do the others.
func (t *table) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	ctx, c := t.begin(ctx, opSwap, s.Name)
	r, err := t.Table.Swap(ctx, s)
	c.end(ctx, err)
	return r, err
}

func (t *table) Join(ctx context.Context, name string, e ledger.Entry, floor backend.Fence) (ledger.Reply, error) {
	ctx, c := t.begin(ctx, opJoin, name)
	r, err := t.Table.Join(ctx, name, e, floor)
	c.end(ctx, err)
	return r, err
}

func (t *table) Look(ctx context.Context, name string) (ledger.Reply, error) {
	ctx, c := t.begin(ctx, opLook, name)
	r, err := t.Table.Look(ctx, name)
	c.end(ctx, err)
	return r, err
}

func (t *table) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {
	ctx, c := t.begin(ctx, opRenew, "")
	errs, err := t.Table.Renew(ctx, rs)
	c.end(ctx, err)
	return errs, err
}

func (t *table) Send(ctx context.Context, ms []ledger.Addressed) error {
	ctx, c := t.begin(ctx, opSend, "")
	err := t.Table.Send(ctx, ms)
	c.end(ctx, err)
	return err
}

func (t *table) List(ctx context.Context, prefix, cursor string, limit int) ([]ledger.Named, string, error) {
	ctx, c := t.begin(ctx, opList, "")
	rows, next, err := t.Table.List(ctx, prefix, cursor, limit)
	c.end(ctx, err)
	return rows, next, err
}

func (t *table) Ping(ctx context.Context) error {
	ctx, c := t.begin(ctx, opPing, "")
	err := t.Table.Ping(ctx)
	c.end(ctx, err)
	return err
}
