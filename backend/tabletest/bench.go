package tabletest

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
)

// Bench is a store whose requests are measured beside what it does by itself.
type Bench struct {
	// Open makes a Table of the store as node sees it. The benchmark closes it.
	Open func(node string) (ledger.Table, error)
	// Trip is the store's own trivial request, and Write one durable write of its own.
	Trip, Write func(ctx context.Context) error
}

// Run measures, each by one caller: a request and a write of the store's own; a look; a lock of
// one's own and its release; a hand-over between two nodes, from the release to the other one's
// hold, by itself and while the first one asks for the name again; the renewal of 100 leases.
func (x Bench) Run(b *testing.B) {
	a, other := x.node(b, "a"), x.node(b, "b")
	repeat := func(name string, f func(context.Context) error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := f(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run := "bench-" + rand.Text()[:8] + "-"
	a.take(b, run+"look")
	repeat("trip", x.Trip)
	repeat("durable write", x.Write)
	repeat("look", func(ctx context.Context) error { _, err := a.Look(ctx, run+"look"); return err })
	pair := a.take(b, run+"pair")
	repeat("pair", func(context.Context) error {
		pair = a.leave(b, run+"pair", pair)
		pair = a.swap(b, run+"pair", pair, ledger.Op{Want: 1})
		return nil
	})
	b.Run("hand-over", func(b *testing.B) { handOver(b, a, other, run+"hand-over", false) })
	b.Run("hand-over and join", func(b *testing.B) { handOver(b, a, other, run+"hand-over-join", true) })
	rs := make([]ledger.Renewal, 100)
	for i := range rs {
		name := fmt.Sprint(run, "renew-", i)
		r := a.take(b, name)
		rs[i] = ledger.Renewal{Name: name, ID: r.Record.Firm("a").ID, TTL: time.Hour}
	}
	repeat("renew 100", func(ctx context.Context) error {
		errs, err := a.Renew(ctx, rs)
		for _, e := range errs {
			if err == nil {
				err = e
			}
		}
		return err
	})
}

// handOver passes a name to and fro. joins: who has let go of it joins at once, and not only
// when the other one has it. lost/op is how often the other one's write met another version.
func handOver(b *testing.B, from, to *bencher, name string, joins bool) {
	r := from.take(b, name)
	if _, err := to.Join(b.Context(), name, ledger.Entry{Node: to.Node(), Want: 1}, 0); err != nil {
		b.Fatal(err)
	}
	r = from.look(b, name)
	lost := 0
	for b.Loop() {
		to.forget()
		from.leave(b, name, r)
		var joining sync.WaitGroup
		join := func() {
			if _, err := from.Join(b.Context(), name, ledger.Entry{Node: from.Node(), Want: 1}, 0); err != nil {
				b.Error(err)
			}
		}
		if joins {
			joining.Go(join)
		}
		at := to.hears(b, name)
		for r = to.step(b, name, at, ledger.Op{Want: 1}); !r.Written; r = to.step(b, name, r, ledger.Op{Want: 1}) {
			lost++
		}
		b.StopTimer()
		if joining.Wait(); !joins {
			join()
		}
		r = to.look(b, name)
		from, to = to, from
		b.StartTimer()
	}
	b.ReportMetric(float64(lost)/float64(b.N), "lost/op")
	b.StopTimer()
	from.leave(b, name, r) // the other one is offered it, and that ends by itself
	to.hears(b, name)
}

// bencher is a Table that hears.
type bencher struct {
	ledger.Table
	heard chan ledger.Addressed
}

func (x Bench) node(b *testing.B, id string) *bencher {
	b.Helper()
	t, err := x.Open(id)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = t.Close() })
	n := &bencher{t, make(chan ledger.Addressed, 1000)}
	n.Listen(func(m ledger.Addressed) {
		if m.Kind == ledger.Look {
			n.heard <- m
		}
	})
	return n
}

// take has n hold a name for an hour, once the store grants.
func (n *bencher) take(b *testing.B, name string) ledger.Reply {
	b.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		seen, err := n.Look(b.Context(), name)
		if err == nil {
			next, effects := n.computed(seen, ledger.Op{Want: 1, Lapse: true})
			if seen, err = n.Swap(b.Context(), ledger.Swap{Name: name, Base: seen.Version, Record: next, Effects: effects}); err == nil && seen.Record.Firm(n.Node()) != nil {
				return seen
			}
		}
		if time.Now().After(end) {
			b.Fatalf("%s is not granted: %+v, %v", name, seen, err)
		}
	}
}

func (n *bencher) leave(b *testing.B, name string, seen ledger.Reply) ledger.Reply {
	b.Helper()
	return n.swap(b, name, seen, ledger.Op{Verb: ledger.Leave, Hold: seen.Record.Firm(n.Node()).ID})
}

// swap is step, and has to be written.
func (n *bencher) swap(b *testing.B, name string, seen ledger.Reply, op ledger.Op) ledger.Reply {
	b.Helper()
	r := n.step(b, name, seen, op)
	if !r.Written {
		b.Fatalf("%s was not written: there is %+v", name, r)
	}
	return r
}

func (n *bencher) step(b *testing.B, name string, seen ledger.Reply, op ledger.Op) ledger.Reply {
	b.Helper()
	next, effects := n.computed(seen, op)
	r, err := n.Swap(b.Context(), ledger.Swap{Name: name, Base: seen.Version, Record: next, Effects: effects})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func (n *bencher) computed(seen ledger.Reply, op ledger.Op) (ledger.Record, ledger.Effects) {
	op.Node, op.Turns, op.TTL, op.OfferTTL = n.Node(), 64, time.Hour, 20*time.Second
	return ledger.Step(seen.Record, op, 0)
}

func (n *bencher) look(b *testing.B, name string) ledger.Reply {
	b.Helper()
	r, err := n.Look(b.Context(), name)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// forget forgets what n was told.
func (n *bencher) forget() {
	for len(n.heard) > 0 {
		<-n.heard
	}
}

// hears waits until n was told of a name, and is what came with that, or is there now.
func (n *bencher) hears(b *testing.B, name string) ledger.Reply {
	b.Helper()
	for {
		select {
		case m := <-n.heard:
			switch {
			case m.Name != name:
			case m.Reply != nil:
				return *m.Reply
			default:
				return n.look(b, name)
			}
		case <-time.After(time.Minute):
			b.Fatalf("%s is told nothing of %s", n.Node(), name)
		}
	}
}
