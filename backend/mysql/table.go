package mysql

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// Table keeps the records of package ledger in MySQL, as one node sees them.
type Table struct {
	*sqltable.Table
	hosts    address
	requests *pool
	renewals *pool // of its own: no other request is before them
	sleeper  *sleeper
	count    atomic.Pointer[count]
	rings    rings
	disk     disk
	others   sync.Once // tells that a gateway logs in as another user
}

const (
	renewConns = 4
	// racesMost bounds how often a statement is sent again that another one was before.
	racesMost = 10
)

// OpenTable makes the Table of a node. It does not wait for the server to be there. Errors
// are of the configuration.
func OpenTable(cfg Config) (*Table, error) {
	a, err := parseAddress(cfg.URL, cfg.Password)
	if err != nil {
		return nil, err
	}
	t := &Table{hosts: a, disk: disk{asks: make(chan struct{}, 1)}}
	t.sleeper = newSleeper(t)
	t.requests, t.renewals = t.newPool(a.conns, full), t.newPool(renewConns, nil)
	t.Table, err = sqltable.New(cfg, sqltable.Database{
		Type: "mysql", Product: product, Names: "lockgw_names", MaxNode: maxNode,
		Layout: layoutSQL, Known: layout, Missing: func(err error) bool { return is(err, missing) }, Create: t.create, Ask: t.ask, Scout: t.scout,
		Swap: t.swap, Look: t.look, Renew: t.renew, Send: t.send, List: t.list, Reply: readReply, Rows: t.rows, Newest: newestSQL,
		Listen: t.sleeper.listen, Beat: t.sleeper.beat, Sweep: t.sweep,
		Barred: t.room, Wrong: t.wrong, Rights: rightsSQL, Pools: []sqltable.Connected{t.requests, t.renewals},
	})
	return t, err
}

// Listen implements ledger.Table.
func (t *Table) Listen(f func(ledger.Addressed)) {
	t.Table.Listen(f)
	t.Go(t.watchDisk)
}

// wrong is why commits wait, or messages do not arrive at once.
func (t *Table) wrong() error {
	if err := t.room(); err != nil {
		return err
	}
	return t.sleeper.wrong()
}

// again does f again as long as others were before it. It has changed nothing then.
func again(ctx context.Context, f func() error) (err error) {
	for try := range racesMost {
		if err = f(); !raced(err) || !backend.Wait(ctx, rand.N(time.Duration(try+1)*time.Millisecond)) {
			break
		}
	}
	return err
}

// swap is that of sqltable.Database.
func (t *Table) swap(ctx context.Context, s ledger.Swap, run sqltable.Run) (r ledger.Reply, trusted bool, err error) {
	w, err := t.write(s, run)
	if err != nil {
		return ledger.Reply{}, true, err
	}
	var a answer
	err = again(ctx, func() error {
		return t.requests.with(ctx, func(c *conn) (err error) {
			c.broken = w.run.ID != "" && c.server.identity != w.run.Server
			if c.broken || w.run.ID != "" && t.Runs.Present() != w.run { // perhaps c has shown that it is over
				a = answer{same: true, strange: true}
				return nil
			}
			a, err = t.carryOut(ctx, c, w)
			return err
		})
	})
	switch {
	case err != nil:
		return ledger.Reply{}, true, t.noticed(err)
	case !a.written && !a.same:
		return ledger.Reply{}, true, t.elsewhere(backend.ErrRefused)
	case a.strange, !a.written && w.run.ID != "" && a.run != w.run.ID && a.version == w.base:
		return ledger.Reply{}, false, nil
	case !a.written && w.far > 0 && a.version == w.base:
		if back, err := t.putBack(ctx, w.far); back || err != nil {
			return ledger.Reply{}, err != nil, err
		}
		r, err = a.reply(w.raw)
		return r, true, err
	case !a.written:
		r, err = a.reply(w.raw)
		return r, true, err
	}
	r, err = w.reply(a)
	return r, true, err
}

// carryOut sends w over c, and wakes those whom it has messages for.
func (t *Table) carryOut(ctx context.Context, c *conn, w *write) (a answer, err error) {
	if w.base != 0 && !w.stays() && len(w.Effects.Messages) == 0 {
		return t.carryOutAlone(ctx, c, w)
	}
	s, nodes := w.request()
	got, err := c.query(ctx, s.sql.String(), s.args...)
	if err != nil {
		return a, err
	}
	if want := min(len(nodes), 1) + 1; len(got) != want {
		return a, fmt.Errorf("%w: the server has told %d results, and not %d", backend.ErrUnavailable, len(got), want)
	}
	if a, err = readAnswer(got[0]); err == nil && a.written && len(nodes) > 0 {
		a.unheard = t.ring(ctx, c, w.Effects.Messages, got[1])
	}
	return a, err
}

// carryOutAlone sends w by one statement, whose answer has all that has to be known.
func (t *Table) carryOutAlone(ctx context.Context, c *conn, w *write) (a answer, err error) {
	var s statement
	w.put(&s)
	changed, now, err := c.exec(ctx, s.sql.String(), s.args...)
	if err != nil {
		return a, err
	}
	if changed == 1 {
		return answer{written: true, clock: now}, nil
	}
	return lookBy(ctx, c, w.raw)
}

// request is w, the question what is there then, before another write can come, the messages,
// which are committed together with it, and the question where the nodes sleep that have any.
// Nothing is asked after the commit: an error there would say of what stands that it was refused.
func (w *write) request() (s statement, nodes []any) {
	s.add(begin)
	w.put(&s)
	s.add(";\n"+wroteSQL, []byte(w.raw))
	for _, m := range w.Effects.Messages {
		s.add(";\n"+postSQL, []byte(m.Node), int(m.Kind), []byte(m.Text), []byte(w.raw), w.next)
		nodes = append(nodes, []byte(m.Node))
	}
	if len(nodes) > 0 {
		s.add(";\n"+bellsSQL+marks(len(nodes)), nodes...)
	}
	s.add(";\nCOMMIT")
	return s, nodes
}

func (t *Table) look(ctx context.Context, raw string) (ledger.Reply, error) {
	var a answer
	err := t.requests.with(ctx, func(c *conn) (err error) {
		a, err = lookBy(ctx, c, raw)
		return err
	})
	switch {
	case err != nil:
		return ledger.Reply{}, t.noticed(err)
	case !a.same:
		return ledger.Reply{}, t.elsewhere(backend.ErrRefused)
	}
	return a.reply(raw)
}

func lookBy(ctx context.Context, c *conn, raw string) (a answer, err error) {
	got, err := c.query(ctx, lookSQL, []byte(raw))
	if err == nil {
		a, err = readAnswer(got[0])
	}
	return a, err
}
