package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/session/contender"
	"github.com/lockgw/lockgw/session/engine"
)

// overStores runs f over the embedded store and a real Redis, whose client is rdb.
func overStores(t *testing.T, f func(t *testing.T, s *store)) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		rows := memory.NewRows()
		f(t, &store{open: func(node string) ledger.Table { return memory.OpenTable(rows, node) }})
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		f(t, &store{redis: server, open: func(node string) ledger.Table {
			table, err := redis.OpenTable(redis.Config{URL: server.URL(), Node: backend.Node{ID: node}, Guard: redis.GuardNone})
			if err != nil {
				t.Fatal(err)
			}
			return table
		}})
	})
}

type store struct {
	redis *redistest.Server // nil: the embedded one
	open  func(node string) ledger.Table
}

// deaf is a Table that counts and loses what it is told to.
type deaf struct {
	ledger.Table
	requests atomic.Int64
	mute     atomic.Bool // Send fails
	noPush   atomic.Bool
	sending  func() // is called by Send, if set
	swapping func() // is called by Swap, if set
	heard    func(ledger.Addressed)
	ready    chan struct{} // closed by the first message, of Redis a Resync
}

func (d *deaf) Info() backend.Info {
	info := d.Table.Info()
	info.Push = info.Push && !d.noPush.Load()
	return info
}

func (d *deaf) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	d.requests.Add(1)
	if d.swapping != nil {
		d.swapping()
	}
	return d.Table.Swap(ctx, s)
}

func (d *deaf) Join(ctx context.Context, name string, e ledger.Entry, floor backend.Fence) (ledger.Reply, error) {
	d.requests.Add(1)
	return d.Table.Join(ctx, name, e, floor)
}

func (d *deaf) Look(ctx context.Context, name string) (ledger.Reply, error) {
	d.requests.Add(1)
	return d.Table.Look(ctx, name)
}

func (d *deaf) Send(ctx context.Context, ms []ledger.Addressed) error {
	if d.mute.Load() {
		return errAway
	}
	if d.sending != nil {
		d.sending()
	}
	return d.Table.Send(ctx, ms)
}

func (d *deaf) Listen(f func(ledger.Addressed)) {
	d.heard = f
	ready := sync.OnceFunc(func() { close(d.ready) })
	d.Table.Listen(func(m ledger.Addressed) {
		ready()
		f(m)
	})
}

// gateway of the store, which hears messages when it is returned.
func (s *store) gateway(t *testing.T, node string) (*gateway, *deaf) {
	t.Helper()
	return s.gatewayOf(t, config(node))
}

// gatewayOf is gateway of another Config.
func (s *store) gatewayOf(t *testing.T, cfg engine.Config) (*gateway, *deaf) {
	t.Helper()
	table := &deaf{Table: s.open(cfg.Node), ready: make(chan struct{})}
	cfg.TurnTime = time.Hour // a busy machine does not make it the turn of another node
	g := open(table, cfg, nil)
	t.Cleanup(func() {
		g.Abandon()
		_ = table.Close()
	})
	if s.redis != nil {
		select {
		case <-table.ready:
		case <-time.After(time.Minute):
			t.Fatal("no subscription")
		}
	}
	return g, table
}

func long(owner string, m backend.Mode) *contender.Caller {
	return &contender.Caller{Owner: backend.Owner(owner), TTL: time.Minute, Mode: m, About: "about " + owner}
}

// asks has g ask until nobody is silent: on a busy machine an answer may take longer than it
// is waited for.
func (g *gateway) asks(t *testing.T, name string) engine.Answer {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		a, err := g.Ask(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Silent) == 0 {
			return a
		}
		if time.Now().After(end) {
			t.Fatalf("silent are %v, told is %+v", a.Silent, a.Told)
		}
	}
}

// until waits for the store to have a record.
func (g *gateway) until(t *testing.T, name string, ok func(r *ledger.Record) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		r, err := g.table.Look(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if ok(&r.Record) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("there is %+v", r)
		}
	}
}

func owners(cs []ledger.Caller) (out []string) {
	for _, c := range cs {
		out = append(out, string(c.Owner))
	}
	return out
}

// Nodes tell what the store does not know: whose turn it is, and who waits.
func TestAsk(t *testing.T) {
	overStores(t, func(t *testing.T, s *store) {
		a, at := s.gateway(t, "a")
		b, _ := s.gateway(t, "b")
		c, _ := s.gateway(t, "c")
		cs := []*contender.Caller{long("u:1", 0), long("u:2", 0), long("u:3", 0)}
		a.hold(t, "n", cs[0])
		a.enter(t, "n", cs[1])
		a.enter(t, "n", cs[2])
		before := at.requests.Load()
		if got := c.asks(t, "n"); got.Told["a"].Holds != 1 || at.requests.Load() != before {
			t.Errorf("who was asked sent %d requests, and told %+v", at.requests.Load()-before, got.Told)
		}
		b.enter(t, "n", long("v:1", 0))
		c.until(t, "n", func(r *ledger.Record) bool { return r.Entry("b") != nil })
		for i, holder := range cs[:2] {
			got := c.asks(t, "n")
			h := got.Told["a"]
			want := ledger.Caller{Owner: holder.Owner, Entries: 1, Fence: holder.Fence, Since: holder.Since, About: holder.About}
			if h.Node != "a" || h.Holds != 1 || len(h.Callers) != 1 || h.Callers[0] != want || h.Last != holder.Fence {
				t.Errorf("a tells %+v, want %+v", h, want)
			}
			if h.Left <= 0 || h.Left > time.Minute {
				t.Errorf("it lasts for %v more", h.Left)
			}
			if w := owners(h.Waiting); h.Waiters != 2-i || fmt.Sprint(w) != fmt.Sprint([]string{"u:2", "u:3"}[i:]) || h.Waiting[0].About == "" {
				t.Errorf("at a wait %d: %v", h.Waiters, w)
			}
			if w := got.Told["b"]; w.Holds != 0 || w.Left != 0 || w.Last != 0 || w.Waiters != 1 || w.Waiting[0].Owner != "v:1" {
				t.Errorf("b tells %+v", w)
			}
			if r := got.Reply.Record; len(got.Told) != 2 || r.Firm("a") == nil || r.Entry("b") == nil || r.Firm("a").Callers[0].Owner != "u:1" {
				t.Errorf("told by %d, the store has %+v", len(got.Told), r)
			}
			if own := a.asks(t, "n"); len(own.Told) != 1 || own.Told["b"].Waiters != 1 {
				t.Errorf("a is told %+v", own.Told)
			}
			if i == 0 {
				a.release(t, "n", holder)
				a.granted(t, "n", cs[1])
			}
		}
		if free := c.asks(t, "free"); free.Told == nil || len(free.Told) != 0 || free.Reply.Version != "" {
			t.Errorf("of a name that nobody uses: %+v", free)
		}
	})
}

// Several hold: all of them are told, and counted.
func TestAskSeveral(t *testing.T) {
	overStores(t, func(t *testing.T, s *store) {
		a, _ := s.gateway(t, "a")
		b, _ := s.gateway(t, "b")
		for i := range 25 {
			a.hold(t, "n", &contender.Caller{Owner: backend.Owner(fmt.Sprint("u:", i)), TTL: time.Minute, Mode: backend.Shared})
		}
		b.hold(t, "n", long("v:1", backend.Shared))
		if h := b.asks(t, "n").Told["a"]; h.Holds != 25 || len(h.Callers) != backend.MaxSeveral || h.Last != h.Callers[0].Fence+24 || h.Callers[3].Owner != "u:3" {
			t.Errorf("a tells %+v", h)
		}
		if h := a.asks(t, "n").Told["b"]; h.Holds != 1 || h.Callers[0].Owner != "v:1" {
			t.Errorf("b tells %+v", h)
		}
	})
}

// Who does not answer is silent, and shown as it wrote last, with the time of that.
func TestSilent(t *testing.T) {
	overStores(t, func(t *testing.T, s *store) {
		a, at := s.gateway(t, "a")
		b, bt := s.gateway(t, "b")
		first := long("u:1", 0)
		a.hold(t, "n", first)
		a.Find("n").SetEntries(first, 2).Do(t.Context()) // by now it knows the clock of the store
		silent := func(what string) {
			t.Helper()
			got, err := b.Ask(t.Context(), "n")
			if err != nil || len(got.Told) != 0 || !slices.Equal(got.Silent, []string{"a"}) {
				t.Fatalf("%s: %+v, %v", what, got, err)
			}
			h := got.Reply.Record.Firm("a")
			if ago := time.Duration(got.Reply.Clock-h.At) * time.Microsecond; ago < -time.Second || ago > time.Minute || h.Callers[0].Entries != 2 {
				t.Errorf("%s: a wrote %v ago of %+v", what, ago, h.Callers)
			}
		}
		at.mute.Store(true)
		silent("cannot answer")
		at.mute.Store(false)
		bt.mute.Store(true)
		silent("cannot be asked")
		bt.mute.Store(false)
		bt.noPush.Store(true)
		silent("has no messages")
		bt.noPush.Store(false)
		b.asks(t, "n")
		a.Abandon()
		silent("is gone")
		if err := at.Close(); err != nil {
			t.Fatal(err)
		}
		silent("does not listen")
	})
}

// An answer counts once, from the node that was asked, to the question that was asked.
func TestForgedAnswers(t *testing.T) {
	rows := memory.NewRows()
	s := &store{open: func(node string) ledger.Table { return memory.OpenTable(rows, node) }}
	a, _ := s.gateway(t, "a")
	b, bt := s.gateway(t, "b")
	spy := memory.OpenTable(rows, "a") // in place of a
	a.hold(t, "n", long("u:1", 0))
	spy.Listen(func(m ledger.Addressed) {
		var q struct{ ID, Node string }
		if err := json.Unmarshal([]byte(m.Text), &q); err != nil || m.Kind != ledger.Tell || q.Node != "b" || q.ID == "" {
			t.Errorf("a hears %+v", m)
		}
		say := func(name, id, node string, holds int) {
			bt.heard(ledger.Addressed{Name: name, Message: ledger.Message{
				Node: "b", Kind: ledger.Told, Text: fmt.Sprintf(`{"id":%q,"node":%q,"holds":%d}`, id, node, holds),
			}})
		}
		bt.heard(ledger.Addressed{Name: "n", Message: ledger.Message{Node: "b", Kind: ledger.Told, Text: "{"}})
		say("n", "another", "a", 1)
		say("m", q.ID, "a", 2)
		say("n", q.ID, "c", 3)
		say("n", q.ID, "a", 4)
		say("n", q.ID, "a", 5)
	})
	t.Cleanup(func() { _ = spy.Close() })
	got, err := b.Ask(t.Context(), "n")
	if err != nil || len(got.Told) != 1 || got.Told["a"].Holds != 4 {
		t.Errorf("b believes %+v, %v", got, err)
	}
}

// A flood of questions makes no name, no request, and no more answers than there is room for.
func TestQuestionsAreBounded(t *testing.T) {
	rows := memory.NewRows()
	s := &store{open: func(node string) ledger.Table { return memory.OpenTable(rows, node) }}
	a, at := s.gateway(t, "a")
	a.hold(t, "n", long("u:1", 0))
	b := memory.OpenTable(rows, "b")
	var answers atomic.Int64
	b.Listen(func(m ledger.Addressed) {
		if m.Kind == ledger.Told {
			answers.Add(1)
		}
	})
	t.Cleanup(func() { _ = b.Close() })
	names, requests := a.Names(), at.requests.Load()
	block := make(chan struct{})
	at.sending = func() { <-block }
	const flood = 5000
	for i := range flood {
		name := "n"
		if i%2 == 1 {
			name = fmt.Sprint("other", i)
		}
		at.heard(ledger.Addressed{Name: name, Message: ledger.Message{Node: "a", Kind: ledger.Tell, Text: `{"node":"b","id":"x"}`}})
	}
	for _, text := range []string{"", "{", `{"id":"x"}`, `{"node":7}`} {
		at.heard(ledger.Addressed{Name: "n", Message: ledger.Message{Node: "a", Kind: ledger.Tell, Text: text}})
	}
	close(block)
	a.Abandon() // waits for all that is under way
	if n := answers.Load(); n > 512 {
		t.Errorf("%d answers to %d questions", n, flood)
	}
	if a.Names() > names || at.requests.Load() != requests {
		t.Errorf("%d names and %d requests, before there were %d and %d", a.Names(), at.requests.Load(), names, requests)
	}
}

// A gateway over the embedded store that was started again has told the store of what it
// holds before anything is granted.
func TestRecoverIntoAnEmptyStore(t *testing.T) {
	g, table := start(t, memory.NewRows(), "a", nil)
	first := long("u:1", 0)
	g.hold(t, "n", first)
	g.Abandon()
	_ = table.Close()
	past := g.past["n"].past
	rows := memory.NewRows()
	rows.Raise(first.Fence)
	cfg := config("a")
	cfg.Restores = true
	again := open(memory.OpenTable(rows, "a"), cfg, nil)
	t.Cleanup(again.Abandon)
	for _, c := range past.Callers {
		again.wakes[c] = make(chan bool, 1)
	}
	_, begin := again.Recover("n", past)
	begin(true)
	r, err := again.table.Look(t.Context(), "n")
	if h := r.Record.Firm("a"); err != nil || h == nil || h.ID != past.ID {
		t.Fatalf("the store knows of %+v, %v", r, err)
	}
	next := long("u:2", 0)
	again.enter(t, "n", next)
	again.release(t, "n", past.Callers[0])
	again.granted(t, "n", next)
	if next.Fence <= first.Fence {
		t.Errorf("fence %d after %d", next.Fence, first.Fence)
	}
}

// A message that comes before the journal was read has nobody let go of what the process
// before held.
func TestMessageBeforeRecovery(t *testing.T) {
	rows := memory.NewRows()
	g, table := start(t, rows, "a", nil)
	held := long("u:1", 0)
	g.hold(t, "n", held)
	g.Abandon()
	_ = table.Close()
	cfg := config("a")
	cfg.Recovers = true
	s := &store{open: func(node string) ledger.Table { return memory.OpenTable(rows, node) }}
	b, _ := s.gateway(t, "b")
	at := &deaf{Table: memory.OpenTable(rows, "a"), ready: make(chan struct{})}
	again := open(at, cfg, nil)
	t.Cleanup(func() {
		again.Abandon()
		_ = at.Close()
	})
	next := long("v:1", 0)
	b.enter(t, "n", next)
	b.until(t, "n", func(r *ledger.Record) bool { return r.Entry("b") != nil })
	<-at.ready // it was told that b waits
	for _, k := range []ledger.Kind{ledger.Look, ledger.Waits, ledger.Broken, ledger.Resync, ledger.Tell} {
		r, err := at.Look(t.Context(), "n")
		if err != nil {
			t.Fatal(err)
		}
		at.heard(ledger.Addressed{Name: "n", Message: ledger.Message{Node: "a", Kind: k}, Reply: &r})
	}
	if again.Names() != 0 {
		t.Fatalf("%d names are known before they are recovered", again.Names())
	}
	past := g.past["n"].past
	again.wakes[past.Callers[0]] = make(chan bool, 1)
	n, begin := again.Recover("n", past)
	begin(true)
	again.Recovered()
	if d := again.deadline("n", past.Callers[0]); d == 0 || !past.Callers[0].Holds() {
		t.Fatalf("the hold is over, or ends at %v", d)
	}
	n.Release(past.Callers[0]).Do(t.Context())
	b.granted(t, "n", next) // its place was seen although the message was not heard
}
