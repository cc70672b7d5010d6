package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Table is a Rows as one node sees it.
type Table struct {
	rows  *Rows
	node  string
	inbox messages
}

var _ ledger.Table = (*Table)(nil)

// OpenTable makes the Table of a node.
func OpenTable(r *Rows, node string) *Table { return &Table{rows: r, node: node} }

// Swap implements ledger.Table.
func (t *Table) Swap(_ context.Context, s ledger.Swap) (ledger.Reply, error) {
	r, now := t.rows, t.rows.Clock()
	if s.Effects.Evicts {
		return ledger.Reply{}, fmt.Errorf("%w: nobody outside this gateway has a lock in the embedded store", backend.ErrConflict)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.paused(now); err != nil && s.Effects.Grants {
		return ledger.Reply{}, err
	}
	written := r.row(s.Name).Swap(s, r.version(), now, r.clock())
	reply := r.reply(s.Name, now)
	if reply.Written = written; written {
		reply.Unheard = r.send(s.Name, s.Effects.Messages, &reply)
	}
	return reply, nil
}

// Join implements ledger.Table.
func (t *Table) Join(_ context.Context, name string, e ledger.Entry, _ backend.Fence) (ledger.Reply, error) {
	r, now := t.rows, t.rows.Clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	ms, _ := r.row(name).Join(e, r.version())
	reply := r.reply(name, now)
	r.send(name, ms, &reply)
	return reply, nil
}

// Look implements ledger.Table.
func (t *Table) Look(_ context.Context, name string) (ledger.Reply, error) {
	t.rows.mu.Lock()
	defer t.rows.mu.Unlock()
	now := t.rows.Clock()
	r := t.rows.reply(name, now)
	if err := t.rows.paused(now); err != nil {
		r.Refusing = err.Error()
	}
	return r, nil
}

// Renew implements ledger.Table.
func (t *Table) Renew(_ context.Context, rs []ledger.Renewal) ([]error, error) {
	r, now := t.rows, t.rows.Clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := make([]error, len(rs))
	for i, x := range rs {
		if row := r.names[x.Name]; row == nil || !row.Renew(x.ID, x.TTL, now) {
			errs[i] = backend.ErrNotHeld
		}
	}
	return errs, nil
}

// Send implements ledger.Table.
func (t *Table) Send(_ context.Context, ms []ledger.Addressed) error {
	if err := ledger.Texts(ms); err != nil {
		return err
	}
	t.rows.mu.Lock()
	defer t.rows.mu.Unlock()
	for _, m := range ms {
		t.rows.deliver(m)
	}
	return nil
}

// Listen implements ledger.Table.
func (t *Table) Listen(f func(ledger.Addressed)) {
	t.inbox.start(f)
	t.rows.mu.Lock()
	defer t.rows.mu.Unlock()
	t.rows.tables[t.node] = t
}

// List implements ledger.Table. The cursor is the last name told.
func (t *Table) List(_ context.Context, prefix, cursor string, limit int) ([]ledger.Named, string, error) {
	r, now := t.rows, t.rows.Clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for n := range r.names {
		if strings.HasPrefix(n, prefix) && cmp.Less(cursor, n) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	next := ""
	if len(names) > limit {
		names, next = names[:limit], names[limit-1]
	}
	out := make([]ledger.Named, len(names))
	for i, n := range names {
		out[i] = ledger.Named{Name: n, Reply: r.reply(n, now)}
	}
	return out, next, nil
}

// Ping implements ledger.Table.
func (t *Table) Ping(context.Context) error {
	t.rows.mu.Lock()
	defer t.rows.mu.Unlock()
	return t.rows.paused(t.rows.Clock())
}

// Node implements ledger.Table.
func (t *Table) Node() string { return t.node }

// Info implements ledger.Table. The store forgets nothing while it runs, so nothing is
// restored then. But it begins empty, and has to be told what the process before it has
// granted: of its contenders, contender.Config.Restores is to be true all the same, and
// engine.Recover is to be called with wait for every name in the journal, after Raise and
// before anything is granted.
func (t *Table) Info() backend.Info {
	return backend.Info{Type: "memory", Fencing: true, Queue: true, Push: true, Modes: true}
}

// Close implements ledger.Table.
func (t *Table) Close() error {
	t.rows.mu.Lock()
	if t.rows.tables[t.node] == t {
		delete(t.rows.tables, t.node)
	}
	t.rows.mu.Unlock()
	t.inbox.stop()
	return nil
}
