package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/tabletest"
)

// grantingTable is a store that grants everything.
type grantingTable struct {
	ledger.Table
	told func(ledger.Addressed)
}

func (grantingTable) Swap(context.Context, ledger.Swap) (ledger.Reply, error) {
	return ledger.Reply{Written: true}, nil
}
func (grantingTable) Ping(context.Context) error         { return nil }
func (g *grantingTable) Listen(f func(ledger.Addressed)) { g.told = f }
func (grantingTable) Close() error                       { return nil }
func (g *grantingTable) tells(k ledger.Kind) {
	g.told(ledger.Addressed{Message: ledger.Message{Kind: k}})
}

var newLock = ledger.Swap{Name: "x", Effects: ledger.Effects{Grants: true}}

// wantTableGate fails unless new locks and Ping are refused for a reason with the word
// why; "" means that they are not.
func wantTableGate(t *testing.T, g *TableGate, why string) {
	t.Helper()
	r, err := g.Swap(t.Context(), newLock)
	for what, err := range map[string]error{"a new lock": err, "ping": g.Ping(t.Context())} {
		switch {
		case why == "" && err != nil:
			t.Errorf("%s: err = %v, want nil", what, err)
		case why != "" && (!errors.Is(err, backend.ErrRefused) || errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), why)):
			t.Errorf("%s: err = %v, want %v with %q", what, err, backend.ErrRefused, why)
		}
	}
	if r.Written != (why == "") {
		t.Errorf("granted = %v, want %v", r.Written, why == "")
	}
}

func TestTableGateCheck(t *testing.T) {
	s := &server{err: backend.ErrUnreachable}
	g := NewTableGate(&grantingTable{}, s.ask, slog.New(slog.DiscardHandler))
	wantTableGate(t, g, "has not said yet")
	for _, tt := range []struct {
		name     string
		eviction Eviction
		err      error
		why      string
		refuses  bool
	}{
		{"no answer yet", Eviction{}, backend.ErrUnreachable, "not reachable", false},
		{"no answer in time", Eviction{}, backend.ErrUnavailable, "has not said yet", false},
		{"not told", Eviction{}, nil, "", false},
		{"drops", dropping, nil, "allkeys-lru", true},
		{"still drops, as far as is known", Eviction{}, backend.ErrUnavailable, "allkeys-lru", false},
		{"mended", safe, nil, "", false},
		{"still safe, as far as is known", Eviction{}, backend.ErrUnavailable, "", false},
	} {
		s.says(tt.eviction, tt.err)
		if err := g.Check(t.Context()); (err != nil) != tt.refuses {
			t.Errorf("%s: check = %v, want an error: %v", tt.name, err, tt.refuses)
		}
		t.Run(tt.name, func(t *testing.T) { wantTableGate(t, g, tt.why) })
	}
	s.says(dropping, nil)
	_ = g.Check(t.Context())
	if r, err := g.Swap(t.Context(), ledger.Swap{Name: "x"}); err != nil || !r.Written {
		t.Errorf("what gives back = %+v, %v, want that the store is asked", r, err)
	}
}

// When the gate asks again, and what it logs.
func TestTableGateAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log redistest.Log
		s, store := &server{err: backend.ErrUnreachable}, &grantingTable{}
		g := NewTableGate(store, s.ask, slog.New(slog.NewTextHandler(&log, nil)))
		var told []ledger.Kind
		g.Listen(func(m ledger.Addressed) { told = append(told, m.Kind) })
		asks := func(when string, after time.Duration, n int, first ...ledger.Kind) {
			t.Helper()
			before := s.count()
			for _, kind := range first {
				store.tells(kind)
			}
			time.Sleep(after)
			synctest.Wait()
			if got := s.count() - before; got != n {
				t.Errorf("%s: asked %d times in %v, want %d", when, got, after, n)
			}
		}
		logs := func(n int, text string) {
			t.Helper()
			if got := log.Count(text); got != n {
				t.Errorf("%q was logged %d times, want %d", text, got, n)
			}
		}
		asks("no answer", 35*time.Second, 3)
		s.says(Eviction{}, nil)
		asks("no answer", 10*time.Second, 1)
		logs(1, "does not say")
		asks("not told", 2*time.Minute, 2)
		logs(1, "does not say")

		s.says(dropping, nil)
		asks("a new connection", time.Second, 1, ledger.Resync)
		wantTableGate(t, g, "allkeys-lru")
		asks("drops", 30*time.Second, 3)
		logs(1, "no new locks are granted")

		s.says(safe, nil)
		asks("drops", 10*time.Second, 1)
		wantTableGate(t, g, "")
		logs(1, "keeps no new ones from being granted")
		asks("safe", 3*time.Minute, 3, ledger.Look)
		if len(told) != 2 || told[0] != ledger.Resync || told[1] != ledger.Look {
			t.Errorf("messages passed on = %v, want both", told)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
}

// gatedTable is a Table of a node behind a gate that has asked.
func gatedTable(t *testing.T, url, node string) *TableGate {
	t.Helper()
	table, err := OpenTable(Config{URL: redistest.Patient(url), Node: backend.Node{ID: node}})
	if err != nil {
		t.Fatal(err)
	}
	g := NewTableGate(table, table.Eviction, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = g.Close() })
	if err := g.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestTableGateIsTable(t *testing.T) {
	s := redistest.Start(t)
	tabletest.Run(t, func(t *testing.T, node string) ledger.Table { return hearing{gatedTable(t, s.URL(), node)} })
}

// hearing is a gate whose Listen returns once messages arrive.
type hearing struct{ *TableGate }

func (h hearing) Listen(f func(ledger.Addressed)) {
	listens := make(chan struct{}, 1000)
	h.TableGate.Listen(func(m ledger.Addressed) {
		if m.Kind == ledger.Resync {
			listens <- struct{}{}
		}
		f(m)
	})
	<-listens
}

// ask has the node do op with name.
func ask(t *testing.T, table ledger.Table, node, name string, op ledger.Op) (ledger.Reply, error) {
	t.Helper()
	seen, err := table.Look(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	op.Node, op.Turns, op.TTL = node, 1, time.Minute
	next, effects := ledger.Step(seen.Record, op, 0)
	return table.Swap(t.Context(), ledger.Swap{Name: name, Base: seen.Version, Record: next, Effects: effects})
}

// A policy that somebody sets is found at the next connection; what is held
// stays, and a server that is mended is trusted again.
func TestTableGateOfServer(t *testing.T) {
	s := redistest.Start(t, "--maxmemory", "100mb")
	g := gatedTable(t, s.URL(), "a")
	hearing{g}.Listen(func(ledger.Addressed) {})
	r, err := ask(t, g, "a", "x", ledger.Op{Want: 1})
	if err != nil || !r.Written {
		t.Fatalf("take = %+v, %v", r, err)
	}
	reconnect := func(policy string) {
		t.Helper()
		configSet(t, s, "maxmemory-policy", policy)
		if err := s.Client().ClientKillByFilter(t.Context(), "TYPE", "pubsub").Err(); err != nil {
			t.Fatal(err)
		}
	}
	reconnect("volatile-lru")
	asked := 0
	refused := func() bool { // of another name each time: who has one is granted nothing new
		asked++
		_, err := ask(t, g, "a", fmt.Sprint("y", asked), ledger.Op{Want: 1})
		return errors.Is(err, backend.ErrRefused)
	}
	redistest.Await(t, "new locks are refused", refused)
	hold := r.Record.Firm("a").ID
	if errs, err := g.Renew(t.Context(), []ledger.Renewal{{Name: "x", ID: hold, TTL: time.Minute}}); err != nil || errs[0] != nil {
		t.Errorf("renew = %v, %v, want nil", errs, err)
	}
	if r, err := ask(t, g, "a", "x", ledger.Op{Verb: ledger.Leave, Hold: hold}); err != nil || !r.Written {
		t.Errorf("give back = %+v, %v, want written", r, err)
	}
	if n := s.Client().Exists(t.Context(), "x").Val(); n != 0 {
		t.Errorf("x is there after it was given back")
	}
	reconnect("noeviction")
	redistest.Await(t, "new locks are granted", func() bool { return !refused() })
}

// A server that is not there at the start is asked as soon as it is.
func TestTableGateWithoutServer(t *testing.T) {
	s := redistest.Start(t)
	s.Kill()
	g := gatedTable(t, s.URL(), "a") // no answer is no reason not to start
	g.Listen(func(ledger.Addressed) {})
	if err := g.Ping(t.Context()); !errors.Is(err, backend.ErrUnreachable) {
		t.Errorf("ping = %v, want %v", err, backend.ErrUnreachable)
	}
	s.Restart()
	redistest.Await(t, "a lock is granted", func() bool {
		next, effects := ledger.Step(ledger.Record{}, ledger.Op{Node: "a", Want: 1, Turns: 1, TTL: time.Minute}, 0)
		r, _ := g.Swap(t.Context(), ledger.Swap{Name: "x", Record: next, Effects: effects})
		return r.Written
	})
}
