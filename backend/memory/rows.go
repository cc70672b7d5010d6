// Package memory is a store inside the process: the gateway's default, for the locks of one
// machine, and the plainest statement of what a store has to do.
package memory

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Rows keeps records in the process, and the plainest Table there can be: each request
// is one method of ledger.Row under a mutex. Several nodes may share one, in tests.
type Rows struct {
	// Clock is by what leases end; boottime.Now. It is set before the first use.
	Clock func() time.Duration
	// Keep has records stay that nobody uses, as other stores have them outlive every
	// request that is under way. For tests in which requests are late.
	Keep bool

	nonce string // of the versions: no other process has used them

	mu     sync.Mutex // guards the fields below
	names  map[string]*ledger.Row
	tables map[string]*Table // by node; those that listen
	writes uint64
	mark   backend.Fence // no fence of a name that is not here is above it
	until  time.Duration // nobody is granted anything new before
}

// NewRows makes an empty store.
func NewRows() *Rows {
	return &Rows{Clock: boottime.Now, nonce: rand.Text(), names: map[string]*ledger.Row{}, tables: map[string]*Table{}}
}

// Pause has the store grant nothing new for so long: somebody may hold what it does not
// know of, because the process that granted it has ended and nothing was kept.
func (r *Rows) Pause(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.until = r.Clock() + d
}

// paused is why nothing new is granted, nil if the store is not paused.
func (r *Rows) paused(now time.Duration) error {
	left := r.until - now
	if r.until == 0 || left <= 0 {
		return nil
	}
	return &backend.Later{After: left, Err: fmt.Errorf("%w: the journal of the process before this one was lost, and with it who holds what; "+
		"by %s all that was held then is released or has run out, and locks are granted again", backend.ErrRefused, time.Now().Add(left).Format(time.TimeOnly))}
}

func (r *Rows) version() ledger.Version {
	r.writes++
	return ledger.Version(r.nonce + "." + strconv.FormatUint(r.writes, 36))
}

// Raise has every fence of a new record be above mark: the highest that the process before
// this one has given. The clock of the store, from which fences are counted, is not below
// it either, so that a node that has taken up an earlier hold goes on above it, too.
func (r *Rows) Raise(mark backend.Fence) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mark = max(r.mark, mark)
}

// clock is in microseconds since 1970, and not below any fence of a name that is forgotten.
func (r *Rows) clock() backend.Fence { return max(backend.Fence(time.Now().UnixMicro()), r.mark) }

func (r *Rows) row(name string) *ledger.Row {
	row := r.names[name]
	if row == nil {
		row = &ledger.Row{}
		r.names[name] = row
	}
	return row
}

// reply tells what there is of a name. A row that nobody uses is dropped: no request is
// under way that could take it for the one before, for each is carried out when it is
// made. One that has a vote stays, for others may count on it.
func (r *Rows) reply(name string, now time.Duration) ledger.Reply {
	row := r.names[name]
	if row != nil && !r.Keep && len(row.Record.Holds) == 0 && len(row.Record.Queue) == 0 && row.Record.Vote == "" {
		r.mark = max(r.mark, row.Record.Top)
		delete(r.names, name)
		row = nil
	}
	if row == nil {
		row = &ledger.Row{}
	}
	p := row.Reply(now)
	p.Clock = int64(r.clock())
	return p
}

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

// send passes on the messages of a write, and returns the nodes that do not listen.
func (r *Rows) send(name string, ms []ledger.Message, with *ledger.Reply) (unheard []string) {
	for _, m := range ms {
		copied := *with
		copied.Record = with.Record.Clone()
		if !r.deliver(ledger.Addressed{Name: name, Message: m, Reply: &copied}) {
			unheard = append(unheard, m.Node)
		}
	}
	return unheard
}

func (r *Rows) deliver(m ledger.Addressed) bool {
	to := r.tables[m.Node]
	return to != nil && to.inbox.put(m)
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

// messages are on their way to one node, in their order, off the store's mutex.
type messages struct {
	mu    sync.Mutex // guards the fields below
	f     func(ledger.Addressed)
	queue []ledger.Addressed
	busy  bool
	wg    sync.WaitGroup
}

func (b *messages) start(f func(ledger.Addressed)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.f = f
}

func (b *messages) stop() {
	b.mu.Lock()
	b.f, b.queue = nil, nil
	b.mu.Unlock()
	b.wg.Wait()
}

func (b *messages) put(m ledger.Addressed) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.f == nil {
		return false
	}
	b.queue = append(b.queue, m)
	if !b.busy {
		b.busy = true
		b.wg.Go(b.deliver)
	}
	return true
}

func (b *messages) deliver() {
	for {
		b.mu.Lock()
		if len(b.queue) == 0 {
			b.busy = false
			b.mu.Unlock()
			return
		}
		m, f := b.queue[0], b.f
		b.queue = b.queue[1:]
		b.mu.Unlock()
		f(m)
	}
}
