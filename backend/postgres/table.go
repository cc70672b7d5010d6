package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// Table keeps the records of package ledger in PostgreSQL, as one node sees them.
type Table struct {
	cfg      Config
	sql      statements
	schema   string
	requests *pool
	renewals *pool // of its own: no other request is before them
	listener *listener
	runs     *sqltable.Runs
	prepared *sqltable.Preparation

	cancel context.CancelFunc // ends what runs in the background
	wg     sync.WaitGroup
	closed func() error // closes, once
}

var _ ledger.Table = (*Table)(nil)

const renewConns = 4

// OpenTable makes the Table of a node. It does not wait for the server to be there. Errors
// are of the configuration.
func OpenTable(cfg Config) (*Table, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if len(cfg.Node.ID) > maxNode || cfg.Node.ID == "" {
		return nil, fmt.Errorf("the id of the node, %q, has to have 1 to %d bytes", cfg.Node.ID, maxNode)
	}
	a, err := parseAddress(cfg.URL)
	if err != nil {
		return nil, err
	}
	direct, err := parseListen(cfg, a)
	if err != nil {
		return nil, err
	}
	t := &Table{cfg: cfg, sql: newStatements(a.schema), schema: a.schema, cancel: func() {}}
	t.closed = sync.OnceValue(t.close)
	t.runs = newRuns(cfg)
	t.prepared = t.preparation()
	t.listener = newListener(t, direct)
	t.requests, t.renewals = newPool(a.server, a.conns), newPool(a.server, renewConns)
	return t, nil
}

// Node implements ledger.Table.
func (t *Table) Node() string { return t.cfg.Node.ID }

// Info implements ledger.Table. Without a guard nobody knows that the server has forgotten,
// and nothing is restored.
func (t *Table) Info() backend.Info {
	return backend.Info{Type: "postgres", Fencing: true, Queue: true, Push: true, Shared: true, Modes: true, Restores: t.cfg.Guard == GuardQuarantine}
}

// Close implements ledger.Table. It may be called again.
func (t *Table) Close() error { return t.closed() }

func (t *Table) close() error {
	t.cancel()
	t.wg.Wait()
	t.requests.Close()
	t.renewals.Close()
	return nil
}

// version has never been used: it is one of 2^63.
func version() int64 { return rand.Int64N(1<<63-1) + 1 }

func versionText(v *int64) ledger.Version {
	if v == nil {
		return ""
	}
	return ledger.Version(strconv.FormatInt(*v, 10))
}

// Swap implements ledger.Table.
func (t *Table) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	if s.Effects.Evicts {
		return ledger.Reply{}, fmt.Errorf("%w: nobody outside lockgw has a lock in PostgreSQL", backend.ErrConflict)
	}
	if err := t.prepare(ctx); err != nil {
		return ledger.Reply{}, err
	}
	if s.Effects.Grants {
		if err := t.listener.pooler(); err != nil {
			return ledger.Reply{}, err
		}
	}
	for range sqltable.Tries {
		w, err := t.write(s, t.needed(s))
		if err != nil {
			return ledger.Reply{}, err
		}
		r, trusted, err := t.swap(ctx, w)
		if err != nil || trusted {
			return r, err
		}
		if err := t.decide(ctx); err != nil {
			return ledger.Reply{}, err
		}
	}
	return ledger.Reply{}, t.runs.Strange()
}

// swap carries out w. trusted: if it was not written, that is not because of the server.
func (t *Table) swap(ctx context.Context, w write) (r ledger.Reply, trusted bool, err error) {
	ss := []statement{newStatement(w.sql, w.args...)}
	ms := w.effects.Messages
	with := len(ms) > 0 && w.relaxed && !w.tells
	if with { // in the same transaction
		ss = append(ss, t.telling(w.raw, w.name, ms))
	}
	var a answer
	var unheard []string
	got, err := t.requests.send(ctx, ss...)
	if err == nil && w.Base != "" && len(got[0]) == 0 {
		return t.missed(ctx, w)
	}
	if err == nil {
		a, err = readAnswer(got[0])
	}
	if err == nil && with {
		unheard, err = readUnheard(got[1])
	}
	switch {
	case err != nil:
		return ledger.Reply{}, true, t.noticed(err)
	case !a.written && a.trusted && a.version == nil:
		// What the statement told is of when it began. It may have waited since.
		r, err = t.look(ctx, w.raw)
		return r, true, err
	case !a.written:
		r, err = a.reply(w.raw)
		return r, a.trusted, err
	}
	switch {
	case w.tells: // who gets the name has it by now
		unheard = t.afterwards(ctx, w.name, newStatement(t.sql.hears, ms[0].Node))
	case len(ms) > 0 && !w.relaxed:
		unheard = t.tell(ctx, w.raw, w.name, ms)
	}
	r, err = w.reply(a)
	r.Unheard = unheard
	return r, true, err
}

// missed says what is there where w was not carried out, and whether the server is trusted.
func (t *Table) missed(ctx context.Context, w write) (r ledger.Reply, trusted bool, err error) {
	got, err := t.requests.send(ctx, newStatement(t.sql.missed, w.raw, w.run))
	var a answer
	if err == nil {
		a, err = readAnswer(got[0])
	}
	if err != nil {
		return ledger.Reply{}, true, t.noticed(err)
	}
	r, err = a.reply(w.raw)
	return r, a.trusted, err
}

// Look implements ledger.Table.
func (t *Table) Look(ctx context.Context, name string) (ledger.Reply, error) {
	if err := t.prepare(ctx); err != nil {
		return ledger.Reply{}, err
	}
	r, err := t.look(ctx, t.cfg.KeyPrefix+name)
	if err == nil {
		r.Refusing = t.runs.Refusing()
	}
	return r, err
}

func (t *Table) look(ctx context.Context, raw string) (ledger.Reply, error) {
	return t.asked(ctx, t.requests, raw, t.sql.look, raw)
}

// asked is what one statement says of raw.
func (t *Table) asked(ctx context.Context, p *pool, raw, sql string, args ...any) (ledger.Reply, error) {
	var a answer
	got, err := p.send(ctx, newStatement(sql, args...))
	if err == nil {
		a, err = readAnswer(got[0])
	}
	if err != nil {
		return ledger.Reply{}, t.noticed(err)
	}
	r, err := a.reply(raw)
	r.Written = a.written
	return r, err
}

// Join implements ledger.Table.
func (t *Table) Join(ctx context.Context, name string, e ledger.Entry, _ backend.Fence) (ledger.Reply, error) {
	entry, err := json.Marshal(e)
	if err != nil {
		return ledger.Reply{}, fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	if err := t.prepare(ctx); err != nil {
		return ledger.Reply{}, err
	}
	raw := t.cfg.KeyPrefix + name
	r, err := t.asked(ctx, t.requests, raw, t.sql.join, raw, "", true, version(), string(entry), e.Node, e.Mode.Limit())
	if err != nil || !r.Written {
		return r, err
	}
	r.Written = false // that is of a Swap
	var ms []ledger.Message
	for _, h := range r.Record.Holds {
		if h.Node != e.Node && h.Node != "" && !h.Offered {
			ms = append(ms, ledger.Message{Node: h.Node, Kind: ledger.Waits})
		}
	}
	if len(ms) > 0 {
		t.tell(ctx, raw, name, ms)
	}
	return r, nil
}

// Renew implements ledger.Table. Where some leases have no answer, their errors say so and
// those of the others count.
func (t *Table) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {
	if len(rs) == 0 {
		return nil, nil
	}
	if err := t.prepare(ctx); err != nil {
		return nil, err
	}
	return sqltable.Renew(rs, func(group []int, errs []error) error { return t.prolong(ctx, rs, group, errs) })
}

// prolong renews those of rs that group names.
func (t *Table) prolong(ctx context.Context, rs []ledger.Renewal, group []int, errs []error) error {
	names, ids, ttls := make([]string, len(group)), make([]int64, len(group)), make([]int64, len(group))
	at := map[string]int{}
	for k, i := range group {
		names[k], ids[k], ttls[k] = t.cfg.KeyPrefix+rs[i].Name, int64(rs[i].ID), rs[i].TTL.Microseconds()
		at[names[k]] = i
	}
	got, err := t.renewals.send(ctx, newStatement(t.sql.renew, names, ids, ttls))
	if err != nil {
		return t.noticed(err)
	}
	for _, row := range got[0] {
		errs[at[string(row[0])]] = nil
	}
	return nil
}

func duration(us int64) time.Duration { return time.Duration(us) * time.Microsecond }
