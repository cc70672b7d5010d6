package mysql

import (
	"context"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// joinsFree is how often a join is tried without locking the row.
const joinsFree = 2

// join has the server lock the row for who is beaten by others again and again, so that they
// wait for each other.
func (t *Table) join(ctx context.Context, name string, e ledger.Entry) (r ledger.Reply, err error) {
	if err := t.room(); err != nil {
		return ledger.Reply{}, err
	}
	raw := t.Raw(name)
	for range joinsFree {
		seen, err := t.look(ctx, raw)
		if err != nil {
			return ledger.Reply{}, err
		}
		w, err := t.joining(name, e, seen)
		if err != nil || w == nil {
			return seen, err
		}
		r, _, err := t.submit(ctx, w)
		if err != nil || r.Written {
			r.Written = false // that is of a Swap
			return r, err
		}
	}
	err = again(ctx, func() error {
		return t.requests.with(ctx, func(c *conn) (err error) {
			r, err = t.joinLocked(ctx, c, name, e)
			c.broken = c.broken || err != nil // it may have left a transaction
			return err
		})
	})
	return r, t.noticed(err)
}

// joining is the write that puts e into the queue; nil: there is nothing to be written.
func (t *Table) joining(name string, e ledger.Entry, seen ledger.Reply) (*write, error) {
	row := ledger.Row{Version: seen.Version, Record: seen.Record}
	ms, ok := row.Join(e, "")
	if !ok {
		return nil, nil
	}
	w, err := t.write(ledger.Swap{Name: name, Base: seen.Version, Record: row.Record, Effects: ledger.Effects{Messages: ms}}, sqltable.Run{})
	if err == nil {
		w.joins = true
	}
	return w, err
}

// While a row is locked between two requests the server waits no longer for the second one than
// that, in seconds: a gateway that vanishes in between must not keep the others from the row.
const (
	lockingSQL = "SET SESSION wait_timeout = 5;\n" + begin + "SELECT 1 FROM lockgw_names WHERE name = ? FOR UPDATE"
	lockedSQL  = ";\nSET SESSION wait_timeout = DEFAULT"
)

// joinLocked joins over c, while the row is locked.
func (t *Table) joinLocked(ctx context.Context, c *conn, name string, e ledger.Entry) (r ledger.Reply, err error) {
	raw := t.Raw(name)
	got, err := c.query(ctx, lockingSQL+";\n"+lookSQL, []byte(raw), []byte(raw))
	if err != nil {
		return r, err
	}
	a, err := readAnswer(got[len(got)-1], false)
	if err != nil {
		return r, err
	}
	seen, err := a.reply(raw)
	if err != nil {
		return r, err
	}
	w, err := t.joining(name, e, seen)
	if err != nil {
		return r, err
	}
	if w == nil {
		_, _, err = c.exec(ctx, "ROLLBACK"+lockedSQL)
		return seen, err
	}
	var s statement
	nodes := w.request(&s)
	s.add(lockedSQL + commit)
	if a, err = t.answered(ctx, c, w, &s, nodes); err != nil {
		return r, err
	}
	if !a.written {
		return r, t.elsewhere(backend.ErrRefused)
	}
	r, err = w.reply(a)
	r.Written = false
	return r, err
}
