// Package tabletest is what every ledger.Table has to pass: one test for each sentence
// of the interface, against the real store.
package tabletest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// Open makes a Table of one store as node sees it. The suite closes it.
type Open func(t *testing.T, node string) ledger.Table

// Run runs the suite. All tables that open makes have to be of the same store, which
// may have other names in it.
func Run(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		run  func(*env)
	}{
		{"swap", (*env).swap},
		{"a swap that lost changes nothing", (*env).swapLost},
		{"fences of a new record", (*env).fences},
		{"versions are never used again", (*env).versions},
		{"leases", (*env).leases},
		{"what is not over is not ended", (*env).ended},
		{"shared holds and offers", (*env).several},
		{"renewals", (*env).renewals},
		{"join", (*env).join},
		{"messages", (*env).messages},
		{"nobody hears", (*env).unheard},
		{"one of many writers wins", (*env).race},
		{"names", (*env).names},
		{"list", (*env).list},
		{"what was given up before it was sent", (*env).canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(newEnv(t, open))
		})
	}
}

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

// hears waits until n was told k about the name of the test.
func (e *env) hears(n *node, k ledger.Kind) ledger.Addressed {
	e.Helper()
	end := time.After(10 * time.Second)
	for {
		n.mu.Lock()
		i := slices.IndexFunc(n.got, func(m ledger.Addressed) bool { return m.Name == e.name && m.Kind == k })
		var m ledger.Addressed
		if i >= 0 {
			m = n.got[i]
			n.got = slices.Delete(n.got, i, i+1)
		}
		n.mu.Unlock()
		if i >= 0 {
			return m
		}
		select {
		case <-n.was:
		case <-end:
			e.Fatalf("%s was not told %d about %s", n.id, k, e.name)
		}
	}
}

func (e *env) ctx() context.Context {
	ctx, cancel := context.WithTimeout(e.Context(), 10*time.Second)
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

// lasts: the hold of n ends in about d.
func (e *env) lasts(r ledger.Reply, n *node, d time.Duration) {
	e.Helper()
	h := r.Record.Firm(n.id)
	if h == nil {
		e.Fatalf("%s holds nothing: %+v", n.id, r)
	}
	if h.End < d-5*time.Second || h.End > d+10*time.Millisecond {
		e.Errorf("the lease lasts %v more, want about %v", h.End, d)
	}
}

func (e *env) swap() {
	got := e.want(e.a, backend.Exclusive, 1)
	e.is(got, "a |")
	if got.Version == "" {
		e.Error("a record that was written has no version")
	}
	e.lasts(got, e.a, 30*time.Second)
	there := e.look(e.b)
	e.is(there, "a |")
	e.lasts(there, e.a, 30*time.Second)
	if there.Version != got.Version || !there.Record.Same(&got.Record) {
		e.Errorf("b sees %+v, a wrote %+v", there, got)
	}
	after := e.leave(e.a)
	e.is(after, "|")
	if after.Version != "" && after.Record.Top < got.Record.Top {
		e.Errorf("the newest fence went from %d to %d", got.Record.Top, after.Record.Top)
	}
	e.is(e.want(e.b, backend.Exclusive, 1), "b |")
}

func (e *env) swapLost() {
	seen := e.look(e.a)
	late := e.step(e.a, seen, ledger.Op{Want: 1})
	first := e.want(e.b, backend.Exclusive, 1)
	r, err := e.a.Swap(e.ctx(), late)
	if err != nil || r.Written {
		e.Fatalf("written over another version: %+v, %v", r, err)
	}
	e.is(r, "b |")
	e.lasts(r, e.b, 30*time.Second)
	if r.Version != first.Version {
		e.Errorf("told version %q, there is %q", r.Version, first.Version)
	}
	// The same base twice: the second is late.
	leave := e.step(e.b, e.look(e.b), ledger.Op{Verb: ledger.Leave, Hold: first.Record.Firm(e.b.id).ID})
	if r, err := e.b.Swap(e.ctx(), leave); err != nil || !r.Written {
		e.Fatalf("%+v, %v", r, err)
	}
	if r, err := e.b.Swap(e.ctx(), leave); err != nil || r.Written {
		e.Fatalf("the same write was carried out twice: %+v, %v", r, err)
	}
}

func (e *env) fences() {
	s := e.step(e.a, e.look(e.a), ledger.Op{Want: 1, Turns: 64})
	s.Floor = 1 << 52 // no clock is there yet
	r, err := e.a.Swap(e.ctx(), s)
	if err != nil || !r.Written {
		e.Fatalf("%+v, %v", r, err)
	}
	h := r.Record.Firm(e.a.id)
	if h.ID <= s.Floor || h.Block != h.ID || r.Record.Top != h.ID+63 {
		e.Errorf("above %d the record begins with %+v, the newest fence is %d", s.Floor, h, r.Record.Top)
	}
	e.name += ":other"
	before := backend.Fence(time.Now().Add(-time.Hour).UnixMicro())
	if h := e.granted(e.a); h.ID < before || h.ID > 1<<52 {
		e.Errorf("a new record begins with fence %d, not with the store's clock", h.ID)
	}
	e.name += ":absolute"
	back := ledger.Record{Top: 500, Holds: []ledger.Hold{{Node: e.a.id, Count: 1, ID: 437, Block: 437}}}
	r, err = e.a.Swap(e.ctx(), ledger.Swap{
		Name: e.name, Record: back, Absolute: true, Effects: ledger.Effects{Stamps: []ledger.Stamp{{ID: 437, TTL: 30 * time.Second}}},
	})
	if err != nil || !r.Written || r.Record.Firm(e.a.id).ID != 437 || r.Record.Top != 500 {
		e.Errorf("a hold that was forgotten came back as %+v, %v", r, err)
	}
	e.lasts(e.look(e.b), e.a, 30*time.Second)
}

func (e *env) versions() {
	seen := map[ledger.Version]bool{}
	for range 20 {
		for _, r := range []ledger.Reply{e.want(e.a, backend.Exclusive, 1), e.leave(e.a)} {
			if r.Version != "" && seen[r.Version] {
				e.Fatalf("version %q was used twice", r.Version)
			}
			seen[r.Version] = true
		}
	}
	// Nor by a table that is opened later.
	c := e.node("c")
	if r := e.want(c, backend.Exclusive, 1); seen[r.Version] {
		e.Fatalf("version %q was used twice", r.Version)
	}
}

func (e *env) leases() {
	r := e.want(e.a, backend.Shared, 1)
	id := r.Record.Firm(e.a.id).ID
	stale := e.step(e.b, r, ledger.Op{Mode: backend.Shared, Want: 1})
	if errs, err := e.a.Renew(e.ctx(), []ledger.Renewal{{Name: e.name, ID: id, TTL: time.Minute}}); err != nil || errs[0] != nil {
		e.Fatal(err, errs)
	}
	e.lasts(e.look(e.b), e.a, time.Minute)
	got, err := e.b.Swap(e.ctx(), stale) // a renewal is no new version, and a swap keeps it
	if err != nil || !got.Written {
		e.Fatalf("a renewal makes other writes fail: %+v, %v", got, err)
	}
	e.lasts(got, e.a, time.Minute)
	e.lasts(got, e.b, 30*time.Second)
	if errs, err := e.a.Renew(e.ctx(), []ledger.Renewal{{Name: e.name, ID: id, TTL: 2 * time.Second}}); err != nil || errs[0] != nil {
		e.Fatal(err, errs)
	}
	e.lasts(e.look(e.b), e.a, time.Minute)
	// A write of its own may make it shorter.
	e.lasts(e.written(e.op(e.a, ledger.Op{Hold: id, Keep: 1, Mode: backend.Shared, TTL: 10 * time.Second, Extend: true})), e.a, 10*time.Second)
}

func (e *env) ended() {
	r := e.written(e.op(e.a, ledger.Op{Want: 1, TTL: e.after}))
	id := r.Record.Firm(e.a.id).ID
	take := func() ledger.Reply {
		seen := e.look(e.b)
		for i := range seen.Record.Holds { // b's clock is wrong
			seen.Record.Holds[i].End = -time.Hour
		}
		got, err := e.b.Swap(e.ctx(), e.step(e.b, seen, ledger.Op{Want: 1, Lapse: true}))
		if err != nil {
			e.Fatal(err)
		}
		return got
	}
	if got := take(); got.Written {
		e.Fatalf("a hold was ended that is not over: %+v", got)
	}
	e.is(e.look(e.b), "a |")
	end := time.Now().Add(15 * time.Second)
	for {
		if got := take(); got.Written {
			e.is(got, "b |")
			break
		}
		if time.Now().After(end) {
			e.Fatal("a hold whose time is up is never ended")
		}
		time.Sleep(50 * time.Millisecond)
	}
	if errs, err := e.a.Renew(e.ctx(), []ledger.Renewal{{Name: e.name, ID: id, TTL: time.Minute}}); err != nil || !errors.Is(errs[0], backend.ErrNotHeld) {
		e.Errorf("what is over was renewed: %v, %v", errs, err)
	}
}

func (e *env) several() {
	e.is(e.want(e.a, 3, 2), "a2 |")
	e.is(e.want(e.b, 3, 1), "a2 b |")
	c := e.node("c")
	e.is(e.want(c, 3, 1), "a2 b | c")
	id := e.firm(e.a).ID
	r := e.written(e.op(e.a, ledger.Op{Hold: id, Keep: 1, Mode: 3}))
	e.is(r, "a b c? | c")
	if o := e.offer(c); o == nil || o.End <= 0 || o.End > 21*time.Second {
		e.Errorf("the offer is %+v", o)
	}
	e.is(e.want(c, 3, 1), "a b c |")
	r = e.leave(e.a)
	e.is(r, "b c |")
	e.lasts(r, e.b, 30*time.Second) // although no lease began by this write
	e.is(e.leave(e.b), "c |")
	e.is(e.leave(c), "|")
}

func (e *env) renewals() {
	const n = 120
	var rs []ledger.Renewal
	name := e.name
	for i := range n {
		e.name = fmt.Sprintf("%s:%d", name, i)
		id := backend.Fence(7)
		if i%3 != 0 {
			id = e.granted(e.a).ID
		}
		if i%3 == 1 {
			e.leave(e.a)
		}
		rs = append(rs, ledger.Renewal{Name: e.name, ID: id, TTL: time.Minute})
	}
	errs, err := e.a.Renew(e.ctx(), rs)
	if err != nil || len(errs) != n {
		e.Fatal(err, len(errs))
	}
	for i, err := range errs {
		if want := i%3 == 2; want != (err == nil) || err != nil && !errors.Is(err, backend.ErrNotHeld) {
			e.Errorf("renewal %d: %v", i, err)
		}
	}
	e.name = name
	// An offer is none of the node's holds yet.
	e.want(e.a, backend.Exclusive, 1)
	e.want(e.b, backend.Exclusive, 1)
	e.leave(e.a)
	o := e.offer(e.b)
	if errs, err := e.b.Renew(e.ctx(), []ledger.Renewal{{Name: e.name, ID: o.ID, TTL: time.Minute}}); err != nil || !errors.Is(errs[0], backend.ErrNotHeld) {
		e.Errorf("an offer was renewed: %v, %v", errs, err)
	}
	if errs, err := e.b.Renew(e.ctx(), nil); err != nil || len(errs) != 0 {
		e.Errorf("no renewals: %v, %v", errs, err)
	}
}

func (e *env) join() {
	e.want(e.a, backend.Exclusive, 1)
	before := e.look(e.b)
	r, err := e.b.Join(e.ctx(), e.name, ledger.Entry{Node: e.b.id, Want: 1}, 0)
	if err != nil {
		e.Fatal(err)
	}
	e.is(r, "a | b")
	if r.Version == before.Version {
		e.Error("the queue changed, and the version did not")
	}
	e.hears(e.a, ledger.Waits)
	again, err := e.b.Join(e.ctx(), e.name, ledger.Entry{Node: e.b.id, Want: 1}, 0)
	if err != nil || again.Version != r.Version {
		e.Errorf("to join twice changes the record: %+v, %v", again, err)
	}
	e.is(again, "a | b")
	e.lasts(again, e.a, 30*time.Second)
	if r, err := e.node("c").Join(e.ctx(), e.name, ledger.Entry{Node: "c-" + e.run, Mode: 4, Want: 1}, 0); err != nil || r.Version != again.Version {
		e.Errorf("a semaphore joined the queue of a lock: %+v, %v", r, err)
	}
	// An offer that runs out makes its node suspect; to join mends that.
	s := e.step(e.a, e.look(e.a), ledger.Op{Verb: ledger.Leave, Hold: e.firm(e.a).ID, OfferTTL: time.Millisecond})
	if r, err := e.a.Swap(e.ctx(), s); err != nil || !r.Written {
		e.Fatal(r, err)
	}
	e.until(func() bool {
		r := e.op(e.a, ledger.Op{Verb: ledger.Pass, Lapse: true})
		return r.Written && r.Record.Entry(e.b.id) != nil && r.Record.Entry(e.b.id).Suspect
	})
	r, err = e.b.Join(e.ctx(), e.name, ledger.Entry{Node: e.b.id, Want: 1}, 0)
	if err != nil {
		e.Fatal(err)
	}
	e.is(r, "| b")
}

func (e *env) until(ok func() bool) {
	e.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			e.Fatal("it does not come about")
		}
	}
}

func (e *env) messages() {
	e.want(e.a, backend.Exclusive, 1)
	e.want(e.b, backend.Exclusive, 1)
	e.hears(e.a, ledger.Waits)
	left := e.leave(e.a)
	m := e.hears(e.b, ledger.Look)
	if m.Node != e.b.id {
		e.Errorf("b hears %+v", m)
	}
	if m.Reply != nil && (m.Reply.Version != left.Version || !m.Reply.Record.Same(&left.Record)) {
		e.Errorf("the message brings %+v, written was %+v", m.Reply, left)
	}
	if m.Reply != nil {
		if o := m.Reply.Record.Offer(e.b.id); o == nil || o.End <= 0 || o.End > 21*time.Second {
			e.Errorf("the message brings the offer %+v", o)
		}
	}
	if err := e.a.Send(e.ctx(), []ledger.Addressed{{Name: e.name, Message: ledger.Message{Node: e.b.id, Kind: ledger.Broken}}}); err != nil {
		e.Fatal(err)
	}
	e.hears(e.b, ledger.Broken)
	e.a.mu.Lock()
	defer e.a.mu.Unlock()
	if i := slices.IndexFunc(e.a.got, func(m ledger.Addressed) bool { return m.Kind != ledger.Resync && m.Node != e.a.id }); i >= 0 {
		e.Errorf("a hears what is for others: %+v", e.a.got[i])
	}
}

func (e *env) unheard() {
	e.want(e.a, backend.Exclusive, 1)
	gone := e.node("g")
	e.want(gone, backend.Exclusive, 1)
	if err := gone.Close(); err != nil {
		e.Fatal(err)
	}
	e.until(func() bool {
		r := e.leave(e.a)
		if len(r.Unheard) == 0 { // the store has not noticed yet
			e.want(e.a, backend.Exclusive, 1)
			e.want(gone, backend.Exclusive, 1)
			return false
		}
		if !slices.Equal(r.Unheard, []string{gone.id}) {
			e.Errorf("not heard by %v, want %s", r.Unheard, gone.id)
		}
		return true
	})
}

// race: every write that was carried out is in the record.
func (e *env) race() {
	const writers, each = 6, 20
	var wg sync.WaitGroup
	for i := range writers {
		n := e.node(string(rune('c' + i)))
		wg.Go(func() {
			for done := 0; done < each; {
				seen, err := n.Look(e.ctx(), e.name)
				if err != nil {
					e.Error(err)
					return
				}
				s := ledger.Swap{Name: e.name, Base: seen.Version, Record: seen.Record.Clone(), Absolute: true}
				s.Record.Top++
				if len(s.Record.Queue) == 0 { // an empty record may be dropped
					s.Record.Queue = []ledger.Entry{{Node: n.id, Want: 1}}
				}
				r, err := n.Swap(e.ctx(), s)
				if err != nil {
					e.Error(err)
					return
				}
				if r.Written {
					done++
				}
			}
		})
	}
	wg.Wait()
	if got := e.look(e.a).Record.Top; got != writers*each {
		e.Errorf("%d writes were told to be carried out, %d are in the record", writers*each, got)
	}
}

func (e *env) names() {
	for _, n := range []string{"*", "[a]?", "%_", `back\slash`, "ünï/cödé", "a{b}c", "with space", "quote'\"", strings.Repeat("l", 255-len(e.name)-1)} {
		e.T.Run(n[:min(len(n), 20)], func(t *testing.T) {
			one := *e
			one.T, one.name = t, e.name+":"+n
			one.is(one.want(e.a, backend.Exclusive, 1), "a |")
			r := one.look(e.b)
			one.is(r, "a |")
			if errs, err := e.a.Renew(one.ctx(), []ledger.Renewal{{Name: one.name, ID: r.Record.Firm(e.a.id).ID, TTL: time.Minute}}); err != nil || errs[0] != nil {
				t.Error(err, errs)
			}
			rows, _, err := e.b.List(one.ctx(), one.name, "", 10)
			if err != nil || len(rows) != 1 || rows[0].Name != one.name {
				t.Errorf("listed as %+v, %v", rows, err)
			}
			one.is(one.leave(e.a), "|")
		})
	}
}

func (e *env) list() {
	name, want := e.name, map[string]bool{}
	for i := range 25 {
		e.name = fmt.Sprintf("%s:l:%02d", name, i)
		e.want(e.a, backend.Exclusive, 1)
		want[e.name] = true
	}
	e.name = name + ":m:0"
	e.want(e.a, backend.Exclusive, 1)
	got, cursor := map[string]bool{}, ""
	for pages := 0; ; pages++ {
		rows, next, err := e.b.List(e.ctx(), name+":l:", cursor, 7)
		if err != nil {
			e.Fatal(err)
		}
		for _, r := range rows {
			if !want[r.Name] || r.Version == "" || r.Record.Firm(e.a.id) == nil {
				e.Errorf("listed %+v", r)
			}
			got[r.Name] = true
		}
		if cursor = next; next == "" {
			break
		}
		if pages > 10_000 {
			e.Fatal("the list does not end")
		}
	}
	if len(got) != len(want) {
		e.Errorf("%d of %d names are listed", len(got), len(want))
	}
	if err := e.a.Ping(e.ctx()); err != nil {
		e.Error(err)
	}
}

// canceled: what was given up before it was sent is refused or unknown, never told as done.
func (e *env) canceled() {
	ctx, cancel := context.WithCancel(e.Context())
	cancel()
	s := e.step(e.a, e.look(e.a), ledger.Op{Want: 1})
	r, err := e.a.Swap(ctx, s)
	switch {
	case err == nil: // a store that asks nobody may do it all the same
		if there := e.look(e.b); r.Written != (there.Version == r.Version && there.Record.Firm(e.a.id) != nil) {
			e.Errorf("told %+v, there is %+v", r, there)
		}
	case !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrRefused):
		e.Errorf("the error is %v", err)
	}
}
