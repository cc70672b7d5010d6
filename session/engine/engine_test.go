package engine_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session/contender"
	"github.com/lockgw/lockgw/session/engine"
)

// counted counts the requests of one node, and can be cut off.
type counted struct {
	ledger.Table
	requests, renewals atomic.Int64
	away               atomic.Bool
	lost               atomic.Bool // what is renewed is not there
	panics             atomic.Bool
	messages           atomic.Int64
	joined             chan struct{} // closed: joins are answered
}

var errAway = errors.Join(backend.ErrUnavailable, errors.New("cut off by the test"))

func (c *counted) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	c.requests.Add(1)
	if c.panics.CompareAndSwap(true, false) {
		panic("a defect")
	}
	if c.away.Load() {
		return ledger.Reply{}, errAway
	}
	return c.Table.Swap(ctx, s)
}

func (c *counted) Join(ctx context.Context, name string, e ledger.Entry, floor backend.Fence) (ledger.Reply, error) {
	r, err := c.Table.Join(ctx, name, e, floor)
	if c.joined != nil {
		<-c.joined
	}
	return r, err
}

func (c *counted) Listen(f func(ledger.Addressed)) {
	c.Table.Listen(func(m ledger.Addressed) {
		f(m)
		c.messages.Add(1)
	})
}

func (c *counted) Look(ctx context.Context, name string) (ledger.Reply, error) {
	c.requests.Add(1)
	if c.away.Load() {
		return ledger.Reply{}, errAway
	}
	return c.Table.Look(ctx, name)
}

func (c *counted) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {
	c.renewals.Add(1)
	if c.away.Load() {
		return nil, errAway
	}
	if c.lost.Load() {
		return slices.Repeat([]error{backend.ErrNotHeld}, len(rs)), nil
	}
	return c.Table.Renew(ctx, rs)
}

func start(t *testing.T, rows *memory.Rows, node string, past map[string]*journal) (*gateway, *counted) {
	table := &counted{Table: memory.OpenTable(rows, node)}
	g := open(table, config(node), past)
	t.Cleanup(func() {
		g.Abandon()
		_ = table.Close()
	})
	return g, table
}

func caller(owner string) *contender.Caller {
	return &contender.Caller{Owner: backend.Owner(owner), TTL: time.Second}
}

// enter has c stand for the name.
func (g *gateway) enter(t *testing.T, name string, c *contender.Caller) {
	t.Helper()
	g.mu.Lock()
	g.wakes[c] = make(chan bool, 1)
	g.mu.Unlock()
	_, errand, err := g.Enter(name, c)
	if err != nil {
		t.Fatal(err)
	}
	errand.Do(t.Context())
}

// hold has c hold the name within 10 s.
func (g *gateway) hold(t *testing.T, name string, c *contender.Caller) {
	t.Helper()
	g.enter(t, name, c)
	g.granted(t, name, c)
}

func (g *gateway) granted(t *testing.T, name string, c *contender.Caller) {
	t.Helper()
	select {
	case ok := <-g.wake(c):
		if !ok || !g.Find(name).Accept(c) {
			t.Fatalf("%s does not hold %s", c.Owner, name)
		}
	case <-time.After(time.Minute):
		t.Fatalf("%s waits for %s for ever", c.Owner, name)
	}
}

func (g *gateway) release(t *testing.T, name string, c *contender.Caller) {
	t.Helper()
	g.Find(name).Release(c).Do(t.Context())
}

// An undisturbed lock and unlock is one request each, and one who held the name before
// needs no more.
func TestRequests(t *testing.T) {
	g, table := start(t, memory.NewRows(), "a", nil)
	for i := range 3 {
		c := caller("u:1")
		g.hold(t, "n", c)
		g.release(t, "n", c)
		if n := table.requests.Load(); n != int64(2*(i+1)) {
			t.Errorf("after %d pairs: %d requests", i+1, n)
		}
	}
}

// Callers of one node pass the name on among themselves.
func TestTurnsNeedNoStore(t *testing.T) {
	g, table := start(t, memory.NewRows(), "a", nil)
	cs := []*contender.Caller{caller("u:1"), caller("u:2"), caller("u:3")}
	g.hold(t, "n", cs[0])
	g.enter(t, "n", cs[1])
	g.enter(t, "n", cs[2])
	before := table.requests.Load()
	for i, c := range cs {
		if i > 0 {
			g.granted(t, "n", c)
			if c.Fence <= cs[i-1].Fence {
				t.Errorf("fence %d after %d", c.Fence, cs[i-1].Fence)
			}
		}
		if i < 2 {
			g.release(t, "n", c)
		}
	}
	if n := table.requests.Load() - before; n != 0 {
		t.Errorf("%d requests for two turns", n)
	}
}

// The watchdog renews as long as somebody holds; without the store the hold is lost at
// its deadline, and nobody else could have it before.
func TestLossIsTold(t *testing.T) {
	rows := memory.NewRows()
	g, table := start(t, rows, "a", nil)
	other, _ := start(t, rows, "b", nil)
	c := caller("u:1")
	g.hold(t, "n", c)
	first := g.deadline("n", c)
	for end := time.Now().Add(10 * time.Second); g.deadline("n", c) <= first; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody renews")
		}
	}
	table.away.Store(true)
	next := caller("u:2")
	other.enter(t, "n", next)
	select {
	case <-g.wake(c):
	case <-time.After(time.Minute):
		t.Fatal("a hold without a store is never lost")
	}
	lost := boottime.Now()
	other.granted(t, "n", next)
	if granted := boottime.Now(); granted < lost {
		t.Errorf("the next one held at %v, the loss was told at %v", granted, lost)
	}
}

// A hold outlives its gateway: same fence, and nobody else gets the name.
func TestRestart(t *testing.T) {
	rows := memory.NewRows()
	g, table := start(t, rows, "a", nil)
	c := caller("u:1")
	c.TTL = 10 * time.Second
	g.hold(t, "n", c)
	g.Abandon()
	_ = table.Close()

	again, _ := start(t, rows, "a", g.past)
	held := again.past["n"].past.Callers[0]
	if held.Fence != c.Fence || again.deadline("n", held) == 0 {
		t.Fatalf("after the restart %+v holds until %v, before it was %+v", held, again.deadline("n", held), c)
	}
	other, _ := start(t, rows, "b", nil)
	next := caller("u:2")
	other.enter(t, "n", next)
	select {
	case <-other.wake(next):
		t.Fatal("two hold the name")
	case <-time.After(50 * time.Millisecond):
	}
	again.release(t, "n", held)
	other.granted(t, "n", next)
	if next.Fence <= c.Fence {
		t.Errorf("fence %d after %d", next.Fence, c.Fence)
	}
}

// A defect of a store counts as no answer: the request may have been carried out.
func TestDefectOfTheStore(t *testing.T) {
	g, table := start(t, memory.NewRows(), "a", nil)
	table.panics.Store(true)
	c := caller("u:1")
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the defect is hidden")
			}
		}()
		g.enter(t, "n", c)
	}()
	g.granted(t, "n", c)
}

// Names that nobody uses are forgotten but for a few.
func TestIdleNames(t *testing.T) {
	g, table := start(t, memory.NewRows(), "a", nil)
	for i := range 10 {
		c := caller("u:1")
		name := string(rune('a' + i))
		g.hold(t, name, c)
		g.release(t, name, c)
	}
	if n := g.Names(); n != 4 {
		t.Errorf("%d names are remembered, want 4", n)
	}
	if table.requests.Load() != 20 {
		t.Errorf("%d requests for 10 pairs", table.requests.Load())
	}
}

func TestClose(t *testing.T) {
	g, table := start(t, memory.NewRows(), "a", nil)
	c, other := caller("u:1"), caller("u:1")
	g.hold(t, "n", c)
	g.hold(t, "given back", other)
	g.release(t, "given back", other)
	table.away.Store(true)
	g.release(t, "n", c)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var others sync.WaitGroup
	others.Go(func() { // of which nothing is waited for
		for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
			g.Find("given back").Describe()
		}
	})
	if err := g.Close(ctx); err == nil {
		t.Error("a release without an answer counts as confirmed")
	}
	cancel()
	others.Wait()
	if _, _, err := g.Enter("n", caller("u:2")); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("a closed engine says %v", err)
	}
}
