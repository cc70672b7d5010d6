package mysql

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// ring wakes the nodes that ms are for, which have mail, and returns those that do not hear.
// bells are where they sleep. Where nobody can be woken the mail is found within seconds.
func (t *Table) ring(ctx context.Context, c *conn, ms []ledger.Message, bells sqltable.Rows) (unheard []string) {
	asleep := map[string]uint64{}
	for _, row := range bells {
		r := sqltable.NewReader(row)
		if node, server := r.Text(), r.Text(); server == c.server.identity {
			asleep[node] = uint64(r.Number())
		}
	}
	done := map[string]bool{}
	for _, m := range ms {
		if done[m.Node] {
			continue
		}
		done[m.Node] = true
		thread, ok := asleep[m.Node]
		if ok && thread != 0 {
			ok = t.kill(ctx, c, thread)
		}
		if !ok {
			unheard = append(unheard, m.Node)
		}
	}
	return unheard
}

const (
	noSuchThread = 1094
	notOurThread = 1095
)

// killsAlone bounds how often in a row one caller ends the statement of a thread for others.
const killsAlone = 3

// kill ends the statement that thread carries out, or has who is about to do so do it again.
// false: there is no such thread.
//
// MariaDB may take two seconds for a KILL of a thread that wakes up just then. Others that come
// for the same thread meanwhile wait one after the other, and nobody can connect until all are
// through. So a gateway sends one at a time.
func (t *Table) kill(ctx context.Context, c *conn, thread uint64) bool {
	if !t.rings.begin(thread) {
		return true
	}
	for n := 1; ; n++ {
		if n == killsAlone {
			t.rings.end(thread)
			return t.killNow(ctx, c, thread)
		}
		there := t.killNow(ctx, c, thread)
		if !t.rings.again(thread) {
			return there
		}
	}
}

// rings are the threads at which a KILL is on its way; true: another one has to follow it.
type rings struct {
	mu  sync.Mutex
	now map[uint64]bool
}

// begin is false if a KILL is on its way, which another one follows.
func (r *rings) begin(thread uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, busy := r.now[thread]; busy {
		r.now[thread] = true
		return false
	}
	if r.now == nil {
		r.now = map[uint64]bool{}
	}
	r.now[thread] = false
	return true
}

// again is whether another KILL has to follow; otherwise none is on its way any more.
func (r *rings) again(thread uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.now[thread] {
		delete(r.now, thread)
		return false
	}
	r.now[thread] = false
	return true
}

// end: none is on its way that others can rely on.
func (r *rings) end(thread uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.now, thread)
}

func (t *Table) killNow(ctx context.Context, c *conn, thread uint64) bool {
	_, _, err := c.exec(ctx, fmt.Sprintf("KILL QUERY %d", thread))
	switch {
	case is(err, noSuchThread):
		return false
	case is(err, notOurThread):
		t.others.Do(func() {
			t.Log.Warn("another gateway may not be woken, for it logs in to MySQL as another user; it finds its messages by itself within seconds", "err", err)
		})
	case err != nil:
		t.Log.Debug("another gateway could not be woken; it finds its messages by itself within seconds", "err", err)
	}
	return true
}

func (t *Table) send(ctx context.Context, ms []ledger.Addressed) error {
	var s statement
	s.add(sendSQL)
	nodes, plain := []any{}, []ledger.Message{}
	for i, m := range ms {
		s.add(strings.Repeat(", ", min(i, 1))+sendEach, []byte(m.Node), int(m.Kind), []byte(m.Text), []byte(t.Raw(m.Name)))
		nodes, plain = append(nodes, []byte(m.Node)), append(plain, m.Message)
	}
	s.add(";\n"+bellsSQL+marks(len(nodes)), nodes...)
	err := t.requests.with(ctx, func(c *conn) error {
		bells, err := c.query(ctx, s.sql.String(), s.args...)
		if err == nil {
			t.ring(ctx, c, plain, bells[0])
		}
		return err
	})
	return t.noticed(err)
}

// fetchMost is how much mail one request fetches.
const fetchMost = 100

// fetch delivers the mail of the node that is not in box, and puts it there, the oldest first,
// until there is no more or box is full. It does so over a connection that nobody rings at, so
// that nothing but a sleep is ever ended by KILL QUERY; nor is there a sleep in the same request:
// where a KILL comes between two statements, MariaDB 10.11 tells of a next one and sends nothing.
// What comes after less than fetchMost, the next sleep sees before it begins.
func (t *Table) fetch(ctx context.Context, box *mailbox) error {
	for {
		got, err := t.requests.query(ctx, fmt.Sprintf(fetchSQL, listOf(box.ids), fetchMost), []byte(t.Node()))
		if err != nil {
			return err
		}
		slices.SortFunc(got[0], func(a, b [][]byte) int { // digits alone
			return cmp.Or(cmp.Compare(len(a[0]), len(b[0])), bytes.Compare(a[0], b[0]))
		})
		for _, row := range got[0] {
			r := sqltable.NewReader(row)
			id, kind, raw, body := uint64(r.Number()), ledger.Kind(r.Number()), r.Text(), r.Text()
			a := readThere(r)
			if r.Err != nil {
				return r.Err
			}
			box.ids[id] = true
			if m, ok := t.message(kind, raw, body, a); ok {
				t.Deliver(m)
			}
		}
		if len(got[0]) < fetchMost || box.full() {
			return nil
		}
	}
}

// message is what a row of mail says; false: nothing that is for us. Anybody who may write to
// the table can forge one: a record that cannot be read is left out.
func (t *Table) message(k ledger.Kind, raw, body string, a answer) (ledger.Addressed, bool) {
	name, ok := strings.CutPrefix(raw, t.KeyPrefix)
	m, valid := ledger.NewMessage(t.Node(), name, k, body)
	if valid && k != ledger.Tell && k != ledger.Told && a.version != 0 {
		if r, err := a.reply(raw); err == nil {
			m.Reply = &r
		}
	}
	return m, ok && valid
}

// errPolls is what backend.ErrPartly says where nobody can wake the gateway.
var errPolls = fmt.Errorf("%w: KILL QUERY does not reach the connection on which the gateway waits, as it is through a proxy, so that it looks for messages every %v: "+
	"name MySQL itself in backend.url", backend.ErrPartly, pollEach)
