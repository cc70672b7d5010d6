// Package sqltable is what the tables over SQL databases have in common: all of a Table that is
// no statement. What a request has to wait for, which run of a server a grant needs (Runs),
// whether messages arrive (Ear), in what groups leases are renewed, connections for requests
// (Pool). What a statement is and how a message travels each Database knows for itself.
package sqltable

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/selftest"
)

const (
	// BeatPeriod is how often a gateway has itself hear something, over another connection than
	// that by which it listens: a pooler passes on those of the same one.
	BeatPeriod = 2 * time.Second
	sweepEach  = 30 // beats
	// Unused is how long a row stays that nobody uses: longer than a request is under way.
	Unused = time.Minute
	// SweepMost is how many rows a sweep looks for at once.
	SweepMost = 1000
)

// Table is a ledger.Table over a Database, as one node sees it.
type Table struct {
	Config
	Runs *Runs
	Ear  *Ear
	// Beats is how often the node says that it listens.
	Beats time.Duration

	db   Database
	told func(ledger.Addressed) // set by Listen

	prepared  atomic.Bool
	preparing chan struct{} // has an element while somebody prepares
	tested    string        // the run that has passed the test; only who prepares uses it

	life   context.Context // ends with Close
	end    context.CancelFunc
	wg     sync.WaitGroup
	closed func() error // closes, once
}

var _ ledger.Table = (*Table)(nil)

// New makes the Table of a node. It does not wait for the server to be there. Errors are of the
// configuration.
func New(cfg Config, db Database) (*Table, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if len(cfg.Node.ID) > db.MaxNode || cfg.Node.ID == "" {
		return nil, fmt.Errorf("the id of the node, %q, has to have 1 to %d bytes", cfg.Node.ID, db.MaxNode)
	}
	t := &Table{
		Config: cfg, Ear: newEar(db.Product, cfg.Log), Beats: BeatPeriod,
		db: db, preparing: make(chan struct{}, 1),
	}
	t.Runs = NewRuns(RunsConfig{
		Product: db.Product, Setting: "backend." + db.Type + ".guard", Guarded: cfg.Guard == GuardQuarantine,
		Lease: cfg.Lease, File: cfg.GuardFile, Log: cfg.Log, Moved: t.Reset,
	})
	t.life, t.end = context.WithCancel(context.Background())
	t.closed = sync.OnceValue(t.close)
	return t, nil
}

// Node implements ledger.Table, as do the others.
func (t *Table) Node() string { return t.Config.Node.ID }

// Info says of a table without a guard that nobody knows whether the server has forgotten, and
// nothing is restored.
func (t *Table) Info() backend.Info {
	return backend.Info{Type: t.db.Type, Fencing: true, Queue: true, Push: true, Shared: true, Modes: true, Restores: t.Guard == GuardQuarantine}
}

// Close may be called again.
func (t *Table) Close() error { return t.closed() }

func (t *Table) close() error {
	t.end()
	t.wg.Wait()
	t.Runs.Close()
	for _, p := range t.db.Pools {
		p.Close()
	}
	return nil
}

// Reset has all connections for requests made anew.
func (t *Table) Reset() {
	for _, p := range t.db.Pools {
		p.Reset()
	}
}

// Go has f done in the background until the Table is closed.
func (t *Table) Go(f func(context.Context)) { t.wg.Go(func() { f(t.life) }) }

// Raw is how a name is stored.
func (t *Table) Raw(name string) string { return t.KeyPrefix + name }

// Swap asks anew whether the server is trusted if that has changed meanwhile.
func (t *Table) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	if s.Effects.Evicts {
		return ledger.Reply{}, fmt.Errorf("%w: nobody outside lockgw has a lock in %s", backend.ErrConflict, t.db.Product)
	}
	if err := t.ready(ctx); err != nil {
		return ledger.Reply{}, err
	}
	if s.Effects.Grants {
		if err := t.db.Barred(); err != nil {
			return ledger.Reply{}, err
		}
	}
	for range Tries {
		var run Run
		if s.Effects.Grants {
			run = t.Runs.Present()
		}
		r, trusted, err := t.carryOut(ctx, s, run)
		if err != nil || trusted {
			return r, err
		}
		if err := t.Decide(ctx); err != nil {
			return ledger.Reply{}, err
		}
	}
	return ledger.Reply{}, t.Runs.Strange()
}

func (t *Table) Look(ctx context.Context, name string) (ledger.Reply, error) {
	if err := t.ready(ctx); err != nil {
		return ledger.Reply{}, err
	}
	r, err := t.look(ctx, name)
	if err == nil {
		r.Refusing = t.Runs.Refusing()
	}
	return r, err
}

func (t *Table) Join(ctx context.Context, name string, e ledger.Entry, _ backend.Fence) (ledger.Reply, error) {
	if err := t.ready(ctx); err != nil {
		return ledger.Reply{}, err
	}
	if err := t.db.Barred(); err != nil {
		return ledger.Reply{}, err
	}
	return ledger.JoinBySwap(ctx, name, e, t.look, t.swap)
}

// look and swap are of any run of the server: nothing is granted by them.
func (t *Table) look(ctx context.Context, name string) (ledger.Reply, error) {
	return t.db.Look(ctx, t.Raw(name))
}

func (t *Table) swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	r, _, err := t.carryOut(ctx, s, Run{})
	return r, err
}

func (t *Table) Send(ctx context.Context, ms []ledger.Addressed) error {
	if err := ledger.Texts(ms); err != nil || len(ms) == 0 {
		return err
	}
	if err := t.ready(ctx); err != nil {
		return err
	}
	return t.db.Send(ctx, ms)
}

// Listen begins whatever goes on in the background.
func (t *Table) Listen(f func(ledger.Addressed)) {
	t.told = f
	t.Ear.started.Store(true)
	if t.Guard == GuardQuarantine {
		t.Go(t.scout)
	}
	t.Go(func(life context.Context) { t.Ear.run(life, t.db.Listen, func() { t.tell(ledger.Deaf) }) })
	t.Go(func(life context.Context) {
		t.Ear.beat(life, t.Beats, sweepEach, t.db.Beat, func(ctx context.Context) error { return t.db.Sweep(ctx, Unused) })
	})
}

// Deliver tells what was heard.
func (t *Table) Deliver(m ledger.Addressed) { t.told(m) }

// Listens notes that the node listens from now on: at what may be another server than before, or
// the same one that has forgotten.
func (t *Table) Listens() {
	t.Ear.hasTried()
	backend.Signal(t.Ear.beats)
	t.PrepareAgain()
	t.tell(ledger.Resync)
}

// tell says something about all messages.
func (t *Table) tell(k ledger.Kind) {
	t.told(ledger.Addressed{Message: ledger.Message{Node: t.Node(), Kind: k}})
}

// List has the last name told as cursor. A row that cannot be read is left out.
func (t *Table) List(ctx context.Context, prefix, cursor string, limit int) ([]ledger.Named, string, error) {
	if err := t.ready(ctx); err != nil {
		return nil, "", err
	}
	rows, err := t.db.List(ctx, t.Raw(prefix), cursor, limit)
	if err != nil {
		return nil, "", err
	}
	var found []ledger.Named
	var broken error
	last := ""
	for _, row := range rows {
		r := NewReader(row)
		last = r.Text()
		name := strings.TrimPrefix(last, t.KeyPrefix)
		if hidden(name) {
			continue
		}
		if reply, err := t.db.Reply(last, r); err != nil {
			broken = fmt.Errorf("%w: %w", backend.ErrPartly, err)
		} else {
			found = append(found, ledger.Named{Name: name, Reply: reply})
		}
	}
	if len(rows) < limit {
		last = ""
	}
	return found, last, broken
}

// hidden names are no locks: gateways try the database under them.
func hidden(name string) bool { return strings.HasPrefix(name, "lockgw:") }

// Newest implements floor.Keeper.
func (t *Table) Newest(ctx context.Context) (backend.Fence, error) {
	if err := t.ready(ctx); err != nil {
		return 0, err
	}
	r, err := One(t.db.Rows(ctx, t.db.Newest))
	if err != nil {
		return 0, err
	}
	return backend.Fence(r.Number()), r.Err
}

// Ping says of a server in quarantine a backend.Later of an ErrPartly. Without messages waiters
// are served by timers only, so it asks for these, too.
func (t *Table) Ping(ctx context.Context) error {
	err := t.ping(ctx)
	var later *backend.Later
	switch {
	case errors.As(err, &later):
		return &backend.Later{After: later.After, Err: fmt.Errorf("%w: %s", backend.ErrPartly, selftest.Reason(later))}
	case err != nil:
		return fmt.Errorf("%s: %w", t.db.Type, err)
	}
	return nil
}

func (t *Table) ping(ctx context.Context) error {
	if err := t.ready(ctx); err != nil {
		return err
	}
	if t.Guard == GuardQuarantine {
		if err := t.Decide(ctx); err != nil {
			return err
		}
	} else if _, err := t.layout(ctx); err != nil { // nothing was asked yet
		return err
	}
	return t.db.Wrong()
}
