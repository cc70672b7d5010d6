package engine_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session/contender"
	"github.com/lockgw/lockgw/session/engine"
)

// path is how c was let in.
func (g *gateway) path(c *contender.Caller) engine.Path {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.paths[c]
}

func TestPaths(t *testing.T) {
	rows := memory.NewRows()
	g, _ := start(t, rows, "a", nil)
	other, _ := start(t, rows, "b", nil)
	first, second, third := caller("u:1"), caller("u:2"), caller("u:3")
	g.hold(t, "n", first)
	g.enter(t, "n", second)
	g.release(t, "n", first)
	g.granted(t, "n", second)
	third.Curious = true
	other.enter(t, "n", third)
	until(t, "it hears that it waits", func() bool { return other.heard(third) > 0 })
	g.release(t, "n", second)
	other.granted(t, "n", third)
	if a, b, c := g.path(first), g.path(second), other.path(third); a != engine.Direct || b != engine.Local || c != engine.Push {
		t.Errorf("they came by %s, %s and %s", a, b, c)
	}
}

// until waits for something.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// A message that comes while an answer is under way is why the store is asked again.
func TestPathOfAMessageBesideARequest(t *testing.T) {
	rows := memory.NewRows()
	g, _ := start(t, rows, "a", nil)
	other, table := start(t, rows, "b", nil)
	first, second := caller("u:1"), caller("u:2")
	g.hold(t, "n", first)
	table.joined = make(chan struct{})
	other.enter(t, "n", second)
	until(t, "it is in the queue", func() bool {
		r, err := table.Table.Look(t.Context(), "n")
		return err == nil && r.Record.Entry("b") != nil
	})
	g.release(t, "n", first)
	until(t, "the message has come", func() bool { return table.messages.Load() > 0 })
	close(table.joined)
	other.granted(t, "n", second)
	if p := other.path(second); p != engine.Push {
		t.Errorf("it came by %s", p)
	}
}

// A node that dies with the lock tells nobody: a timer has the store asked again.
func TestPathOfATimer(t *testing.T) {
	rows := memory.NewRows()
	g, _ := start(t, rows, "a", nil)
	other, _ := start(t, rows, "b", nil)
	first, second := caller("u:1"), caller("u:2")
	g.hold(t, "n", first)
	g.Abandon()
	other.enter(t, "n", second)
	other.granted(t, "n", second)
	if p := other.path(second); p != engine.Poll {
		t.Errorf("it came by %s", p)
	}
}

func TestQueuedIsTold(t *testing.T) {
	g, _ := start(t, memory.NewRows(), "a", nil)
	first, second := caller("u:1"), caller("u:2")
	first.Curious, second.Curious = true, true
	g.hold(t, "n", first)
	g.enter(t, "n", second)
	if g.heard(first) != 0 || g.heard(second) != 1 {
		t.Errorf("that they wait is told %d and %d times", g.heard(first), g.heard(second))
	}
}

func (g *gateway) heard(c *contender.Caller) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.queued[c]
}

func TestProlong(t *testing.T) {
	g, table := start(t, memory.NewRows(), "a", nil)
	c := caller("u:1")
	c.Fixed = true
	g.hold(t, "n", c)
	n := g.Find("n")
	if err := n.Prolong(t.Context(), c, time.Minute); err != nil {
		t.Fatal(err)
	}
	if left := g.deadline("n", c) - boottime.Now(); left < 50*time.Second {
		t.Errorf("%v are left after it was prolonged by a minute", left)
	}
	g.mu.Lock()
	if len(g.renewed) != 1 || g.renewed[0].left <= 0 || g.renewed[0].left > time.Second || g.renewed[0].err != nil {
		t.Errorf("of renewals it was told %+v", g.renewed)
	}
	g.mu.Unlock()
	table.away.Store(true)
	if err := n.Prolong(t.Context(), c, time.Hour); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("without a store: %v", err)
	}
	n.See(func(k *contender.Contender, _ time.Duration) {
		if n.Trouble() == nil || !k.Failing() || k.Deadline(c) < boottime.Now() {
			t.Errorf("trouble %v, failing %v", n.Trouble(), k.Failing())
		}
	})
	table.away.Store(false)
	g.release(t, "n", c)
	if err := n.Prolong(t.Context(), c, time.Minute); !errors.Is(err, backend.ErrNotHeld) {
		t.Errorf("after the release: %v", err)
	}
	n.See(func(*contender.Contender, time.Duration) {
		if n.Trouble() != nil {
			t.Errorf("after an answer: %v", n.Trouble())
		}
	})
}

// A write that may still come would make the lease as short as it was.
func TestProlongWaitsForAWrite(t *testing.T) {
	g, table := start(t, memory.NewRows(), "a", nil)
	c := caller("u:1")
	g.hold(t, "n", c)
	n := g.Find("n")
	table.away.Store(true)
	n.SetEntries(c, 2).Do(t.Context())
	table.away.Store(false)
	if err := n.Prolong(t.Context(), c, time.Minute); err != nil {
		t.Fatal(err)
	}
	if left := g.deadline("n", c) - boottime.Now(); left < 50*time.Second {
		t.Errorf("%v are left after it was prolonged by a minute", left)
	}
}

func TestGiven(t *testing.T) {
	g, table := start(t, memory.NewRows(), "a", nil)
	c := caller("u:1")
	g.hold(t, "n", c)
	n := g.Find("n")
	if n.Given() != nil {
		t.Error("something is owed while c holds")
	}
	table.away.Store(true)
	n.Release(c).Do(t.Context())
	given := n.Given()
	if given == nil {
		t.Fatal("nothing is owed, and the store does not know of the release")
	}
	select {
	case <-given:
		t.Fatal("given back without a store")
	case <-time.After(20 * time.Millisecond):
	}
	table.away.Store(false)
	select {
	case <-given:
	case <-time.After(time.Minute):
		t.Fatal("never given back")
	}
	if n.Given() != nil {
		t.Error("something is owed for ever")
	}
}

func TestGivenEndsWithTheEngine(t *testing.T) {
	g, table := start(t, memory.NewRows(), "a", nil)
	c := caller("u:1")
	g.hold(t, "n", c)
	n := g.Find("n")
	table.away.Store(true)
	n.Release(c).Launch()
	given := n.Given()
	g.Abandon()
	select {
	case <-given:
	case <-time.After(time.Minute):
		t.Fatal("who waits for a name that was dropped waits for ever")
	}
	if n.Given() != nil || n.Accept(c) || n.Release(c) != nil || n.LoseIf(c, contender.Gone, nil) != nil || n.SetEntries(c, 2) != nil {
		t.Error("a name that was dropped does something")
	}
	if err := n.Prolong(t.Context(), c, time.Second); !errors.Is(err, backend.ErrNotHeld) {
		t.Errorf("prolonged on a name that was dropped: %v", err)
	}
	n.See(func(*contender.Contender, time.Duration) { t.Error("a name that was dropped is shown") })
}

// Who comes while the Engine is given up is refused, or left with what is dropped: nothing is done
// for a name after that.
func TestAbandonLeavesNoName(t *testing.T) {
	for range 100 {
		g, _ := start(t, memory.NewRows(), "a", nil)
		var came sync.WaitGroup
		var mu sync.Mutex
		var names []*engine.Name
		entered := make(chan struct{}, 4)
		for i := range 4 {
			came.Go(func() {
				for k := 0; ; k++ {
					n, errand, err := g.Enter(fmt.Sprint(i, ".", k), &contender.Caller{Owner: "u:1", TTL: time.Second, NoWait: true})
					if err != nil {
						return
					}
					errand.Launch()
					mu.Lock()
					names = append(names, n)
					mu.Unlock()
					if k == 2 {
						entered <- struct{}{}
					}
				}
			})
		}
		<-entered
		g.Abandon()
		came.Wait()
		for _, n := range names {
			if !n.Gone() {
				t.Fatalf("%s is not dropped", n.Title())
			}
		}
	}
}

func TestFind(t *testing.T) {
	g, _ := start(t, memory.NewRows(), "a", nil)
	if g.Find("n") != nil {
		t.Error("a name that nobody has used is known")
	}
	g.hold(t, "n", caller("u:1"))
	g.hold(t, "m", caller("u:1"))
	seen := map[string]bool{}
	g.Each(func(n *engine.Name) { seen[n.Title()] = n == g.Find(n.Title()) })
	if len(seen) != 2 || !seen["n"] || !seen["m"] {
		t.Errorf("known are %v", seen)
	}
}

func TestHurryLoosenDescribe(t *testing.T) {
	rows := memory.NewRows()
	g, table := start(t, rows, "a", nil)
	c, next := caller("u:1"), caller("u:2")
	c.Fixed = true
	g.hold(t, "n", c)
	g.enter(t, "n", next)
	n := g.Find("n")
	n.Hurry(next)
	if _, ok := <-g.wake(next); ok {
		t.Error("one in a hurry is let in beside another")
	}
	n.See(func(*contender.Contender, time.Duration) { c.About = "another" })
	n.Describe()
	n.Loosen(c)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		r, err := table.Table.Look(t.Context(), "n")
		if err == nil && r.Record.Firm("a").Callers[0].About == "another" && table.renewals.Load() > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the store has %+v, %d renewals", r.Record, table.renewals.Load())
		}
	}
}

// Nothing is prolonged that the store does not have.
func TestProlongOfWhatIsNotThere(t *testing.T) {
	g, table := start(t, memory.NewRows(), "a", nil)
	c := caller("u:1")
	g.hold(t, "n", c)
	table.lost.Store(true)
	err := g.Find("n").Prolong(t.Context(), c, time.Minute)
	if left := g.deadline("n", c) - boottime.Now(); !errors.Is(err, backend.ErrNotHeld) || left > 10*time.Second {
		t.Errorf("%v, and %v are left", err, left)
	}
}

// What is to be released, or lost, if something is so stays if it is not.
func TestReleaseIf(t *testing.T) {
	g, _ := start(t, memory.NewRows(), "a", nil)
	for name, end := range map[string]func(*engine.Name, *contender.Caller, bool) *engine.Errand{
		"released": func(n *engine.Name, c *contender.Caller, so bool) *engine.Errand {
			return n.ReleaseIf(c, func(*contender.Contender) bool { return so })
		},
		"lost": func(n *engine.Name, c *contender.Caller, so bool) *engine.Errand {
			return n.LoseIf(c, contender.ByForce, func(*contender.Contender, time.Duration) bool { return so })
		},
	} {
		c := caller("u:1")
		g.hold(t, name, c)
		for _, so := range []bool{false, true} {
			end(g.Find(name), c, so).Do(t.Context())
			g.Find(name).See(func(*contender.Contender, time.Duration) {
				if c.Holds() == so {
					t.Errorf("%s if %v: it holds %v", name, so, c.Holds())
				}
			})
		}
	}
}
