package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// Table keeps the records of package ledger in PostgreSQL, as one node sees them.
type Table struct {
	*sqltable.Table
	requests *pool
	renewals *pool // of its own: no other request is before them
	listener *listener
}

const renewConns = 4

// OpenTable makes the Table of a node. It does not wait for the server to be there. Errors
// are of the configuration.
func OpenTable(cfg Config) (*Table, error) {
	a, err := parseAddress(cfg.URL)
	if err != nil {
		return nil, err
	}
	if cfg.Password != nil {
		a.server.password = cfg.Password
	}
	direct, err := parseListen(cfg, a)
	if err != nil {
		return nil, err
	}
	t := new(Table)
	t.listener = newListener(t, cfg.Node.ID, direct)
	t.requests, t.renewals = newPool(a, a.conns, full), newPool(a, renewConns, nil)
	t.Table, err = sqltable.New(cfg, sqltable.Database{
		Type: "postgres", Product: product, Names: a.schema + ".names", MaxNode: maxNode,
		Layout: layoutSQL, Known: layout, Missing: func(err error) bool { return is(err, missing...) }, Create: t.create, Ask: t.ask, Scout: t.scout,
		Swap: t.swap, Look: t.look, Renew: t.renew, Send: t.send, List: t.list, Reply: readReply, Rows: t.rows, Newest: newestSQL,
		Listen: t.listener.listen, Beat: t.listener.beat, Sweep: t.sweep,
		Barred: t.listener.pooler, Wrong: func() error { return t.Ear.Wrong() },
		Rights: rightsSQL, Pools: []sqltable.Connected{t.requests, t.renewals},
	})
	return t, err
}

// swap is that of sqltable.Database.
func (t *Table) swap(ctx context.Context, s ledger.Swap, run sqltable.Run) (r ledger.Reply, trusted bool, err error) {
	w, err := t.write(s, run.ID)
	if err != nil {
		return ledger.Reply{}, true, err
	}
	ss := []statement{newStatement(w.sql, w.args...)}
	ms := w.Effects.Messages
	with := len(ms) > 0 && w.relaxed && !w.tells
	if with { // in the same transaction
		ss = append(ss, t.telling(w.raw, w.Name, ms))
	}
	var a answer
	var unheard []string
	got, err := t.requests.send(ctx, ss...)
	if err == nil && len(got[0]) > 0 {
		a, err = readAnswer(got[0])
	}
	if err == nil && a.version != w.next { // nothing, or what a trigger has put in its place
		return t.missed(ctx, w)
	}
	if err == nil && with {
		unheard, err = readUnheard(got[1])
	}
	if err != nil {
		return ledger.Reply{}, true, t.noticed(err)
	}
	switch {
	case w.tells: // who gets the name has it by now
		unheard = t.afterwards(ctx, w.Name, newStatement(hearsSQL, ms[0].Node))
	case len(ms) > 0 && !w.relaxed:
		unheard = t.afterwards(ctx, w.Name, t.telling(w.raw, w.Name, ms))
	}
	r, err = w.reply(a)
	r.Unheard = unheard
	return r, true, err
}

// missed says what is there where w was not carried out, and whether the server is trusted.
func (t *Table) missed(ctx context.Context, w write) (r ledger.Reply, trusted bool, err error) {
	a, err := t.answered(ctx, missedSQL, w.raw, w.run)
	if err == nil {
		r, err = a.reply(w.raw)
	}
	return r, a.trusted, err
}

func (t *Table) look(ctx context.Context, raw string) (r ledger.Reply, err error) {
	a, err := t.answered(ctx, lookSQL, raw)
	if err == nil {
		r, err = a.reply(raw)
	}
	return r, err
}

// answered is what one statement tells about a name.
func (t *Table) answered(ctx context.Context, sql string, args ...any) (a answer, err error) {
	got, err := t.requests.send(ctx, newStatement(sql, args...))
	if err == nil {
		a, err = readAnswer(got[0])
	}
	return a, t.noticed(err)
}

// renew is that of sqltable.Database.
func (t *Table) renew(ctx context.Context, rs []ledger.Renewal, group []int, free bool, errs []error) error {
	names, ids, ttls := make([]string, len(group)), make([]int64, len(group)), make([]int64, len(group))
	at := map[string]int{}
	for k, i := range group {
		names[k], ids[k], ttls[k] = t.Raw(rs[i].Name), int64(rs[i].ID), rs[i].TTL.Microseconds()
		at[names[k]] = i
	}
	sql := renewSQL
	if free {
		sql = renewFreeSQL
	}
	s := newStatement(sql, names, ids, ttls)
	began := time.Now()
	got, err := t.renewals.send(ctx, s)
	if sqltable.Unmade(err) { // those for requests may have been made before
		got, err = t.requests.send(ctx, s)
	}
	if err != nil {
		return t.noticed(err)
	}
	for _, row := range got[0] {
		r := sqltable.NewReader(row)
		i := at[r.Text()]
		errs[i] = sqltable.Renewed(r.Number(), rs[i].TTL, began)
	}
	return nil
}

// mostName is more characters than a name has.
const mostName = 256

func (t *Table) list(ctx context.Context, prefix, after string, limit int) (sqltable.Rows, error) {
	return t.rows(ctx, listSQL, prefix, prefix+strings.Repeat("\U0010ffff", mostName), after, limit)
}

// rows are those of one statement.
func (t *Table) rows(ctx context.Context, sql string, args ...any) (sqltable.Rows, error) {
	got, err := t.requests.send(ctx, newStatement(sql, args...))
	if err != nil {
		return nil, t.noticed(err)
	}
	return got[0], nil
}
