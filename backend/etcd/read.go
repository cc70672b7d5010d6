package etcd

import (
	"context"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Look implements ledger.Table.
func (t *Table) Look(ctx context.Context, name string) (ledger.Reply, error) {
	c, err := t.link.client(ctx)
	if err != nil {
		return ledger.Reply{}, err
	}
	r, err := t.look(ctx, c, name, true)
	if why := t.distrust(); why != nil && err == nil {
		r.Refusing = why.Error()
	}
	return r, err
}

func (t *Table) look(ctx context.Context, c *clientv3.Client, name string, fresh bool) (ledger.Reply, error) {
	is, err := t.read(ctx, c, name)
	if err != nil {
		return ledger.Reply{}, err
	}
	return t.reply(ctx, c, name, is, fresh)
}

func (t *Table) read(ctx context.Context, c *clientv3.Client, name string) (row, error) {
	r, err := c.Get(ctx, t.keys.record(name))
	if err != nil {
		return row{}, outcome(ctx, err)
	}
	return t.readRow(only(r.Kvs))
}

// Join implements ledger.Table.
func (t *Table) Join(ctx context.Context, name string, e ledger.Entry, _ backend.Fence) (ledger.Reply, error) {
	if _, err := t.listening.Wait(ctx); err != nil {
		return ledger.Reply{}, err
	}
	c, err := t.link.client(ctx)
	if err != nil {
		return ledger.Reply{}, err
	}
	look := func(ctx context.Context, name string) (ledger.Reply, error) { return t.look(ctx, c, name, false) }
	return ledger.JoinBySwap(ctx, name, e, look, t.swap)
}

// List implements ledger.Table. The cursor is the last name told. A name that nobody uses
// is left out.
func (t *Table) List(ctx context.Context, prefix, cursor string, limit int) ([]ledger.Named, string, error) {
	c, err := t.link.client(ctx)
	if err != nil {
		return nil, "", err
	}
	begin, end := t.keys.record(prefix), clientv3.GetPrefixRangeEnd(t.keys.record(prefix))
	if cursor != "" {
		begin = t.keys.record(cursor) + "\x00"
	}
	r, err := c.Get(ctx, begin, clientv3.WithRange(end), clientv3.WithLimit(int64(max(limit, 1))))
	if err != nil {
		return nil, "", outcome(ctx, err)
	}
	var (
		names  []ledger.Named
		broken error
		next   string
	)
	for _, kv := range r.Kvs {
		name := strings.TrimPrefix(string(kv.Key), t.keys.record(""))
		if r.More {
			next = name
		}
		is, err := t.readRow(kv)
		switch {
		case err != nil:
			broken = fmt.Errorf("%w: %w", backend.ErrPartly, err)
		case is.Record.InUse():
			one, err := t.tell(ctx, c, name, is, false)
			if err != nil {
				return nil, "", err
			}
			names = append(names, ledger.Named{Name: name, Reply: one})
		}
	}
	return names, next, broken
}
