package tabletest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// env is one test: nodes of its own, and a name.
type env struct {
	*testing.T
	open  Open
	run   string // tells this run from others on the same store
	name  string
	a, b  *node
	after time.Duration // a lease that a test waits for
}

// node is a Table with what was told to it.
type node struct {
	ledger.Table
	id  string
	mu  sync.Mutex
	got []ledger.Addressed
	was chan struct{}
}

func newEnv(t *testing.T, open Open) *env {
	e := &env{T: t, open: open, run: rand.Text()[:8], after: time.Second}
	e.name = "tabletest:" + e.run
	e.a, e.b = e.node("a"), e.node("b")
	return e
}

func (e *env) node(id string) *node {
	e.Helper()
	n := &node{id: id + "-" + e.run, was: make(chan struct{}, 1)}
	n.Table = e.open(e.T, n.id)
	e.Cleanup(func() {
		if err := n.Close(); err != nil {
			e.Errorf("closing: %v", err)
		}
	})
	n.Listen(func(m ledger.Addressed) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.got = append(n.got, m); len(n.was) == 0 {
			n.was <- struct{}{}
		}
	})
	return n
}

func (e *env) ctx() context.Context {
	ctx, cancel := context.WithTimeout(e.Context(), time.Minute)
	e.Cleanup(cancel)
	return ctx
}

func (e *env) look(n *node) ledger.Reply {
	e.Helper()
	r, err := n.Look(e.ctx(), e.name)
	if err != nil {
		e.Fatal(err)
	}
	return r
}

// op is what n asks, computed on what is there now as a gateway does, and written once.
func (e *env) op(n *node, op ledger.Op) ledger.Reply {
	e.Helper()
	r, err := n.Swap(e.ctx(), e.step(n, e.look(n), op))
	if err != nil {
		e.Fatal(err)
	}
	return r
}

func (e *env) step(n *node, seen ledger.Reply, op ledger.Op) ledger.Swap {
	op.Node, op.Turns = n.id, max(op.Turns, 1)
	if op.TTL == 0 {
		op.TTL = 30 * time.Second
	}
	if op.OfferTTL == 0 {
		op.OfferTTL = 20 * time.Second
	}
	next, effects := ledger.Step(seen.Record, op, 0)
	return ledger.Swap{Name: e.name, Base: seen.Version, Record: next, Effects: effects}
}

// want has n ask for the name, and must be written.
func (e *env) want(n *node, m backend.Mode, count int) ledger.Reply {
	e.Helper()
	return e.written(e.op(n, ledger.Op{Mode: m, Want: count, Lapse: true}))
}

func (e *env) leave(n *node) ledger.Reply {
	e.Helper()
	id := backend.Fence(0)
	if h := e.firm(n); h != nil {
		id = h.ID
	}
	return e.written(e.op(n, ledger.Op{Verb: ledger.Leave, Hold: id}))
}

func (e *env) written(r ledger.Reply) ledger.Reply {
	e.Helper()
	if !r.Written {
		e.Fatalf("it was not written; there is %+v", r)
	}
	return r
}

// firm is what n holds now.
func (e *env) firm(n *node) *ledger.Hold {
	e.Helper()
	r := e.look(n)
	return r.Record.Firm(n.id)
}

// offer is what n is offered now.
func (e *env) offer(n *node) *ledger.Hold {
	e.Helper()
	r := e.look(n)
	if o := r.Record.Offer(n.id); o != nil {
		return o
	}
	e.Fatalf("%s is offered nothing: %+v", n.id, r)
	return nil
}

// granted has n ask for the name and get it.
func (e *env) granted(n *node) *ledger.Hold {
	e.Helper()
	r := e.want(n, backend.Exclusive, 1)
	if h := r.Record.Firm(n.id); h != nil {
		return h
	}
	e.Fatalf("%s was not granted the name: %+v", n.id, r)
	return nil
}

// needsModes ends a test of shared holds and permits for a store that has neither.
func (e *env) needsModes() {
	e.Helper()
	if !e.a.Info().Modes {
		e.Skip("the store has exclusive locks alone")
	}
}

// is compares what is there with the holds and the queue as text: a node is its first
// letter, with ? if it was only offered.
func (e *env) is(r ledger.Reply, want string) {
	e.Helper()
	var b strings.Builder
	for _, h := range r.Record.Holds {
		b.WriteString(h.Node[:min(1, len(h.Node))])
		if h.Offered {
			b.WriteByte('?')
		}
		if h.Count != 1 {
			fmt.Fprint(&b, h.Count)
		}
		b.WriteByte(' ')
	}
	b.WriteByte('|')
	for _, q := range r.Record.Queue {
		b.WriteString(" " + q.Node[:1])
		if q.Suspect {
			b.WriteByte('!')
		}
	}
	if b.String() != want {
		e.Fatalf("there is %q, want %q: %+v", b.String(), want, r)
	}
}

// lasts: the hold of n ends in about d, of which a busy machine may have spent a half by now.
func (e *env) lasts(r ledger.Reply, n *node, d time.Duration) {
	e.Helper()
	h := r.Record.Firm(n.id)
	if h == nil {
		e.Fatalf("%s holds nothing: %+v", n.id, r)
	}
	if h.End < d/2 || h.End > d+10*time.Millisecond {
		e.Errorf("the lease lasts %v more, want about %v", h.End, d)
	}
}

func (e *env) until(ok func() bool) {
	e.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			e.Fatal("it does not come about")
		}
	}
}
