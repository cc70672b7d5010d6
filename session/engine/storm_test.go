package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/backend/tabletest"
	"github.com/lockgw/lockgw/session/contender"
	"github.com/lockgw/lockgw/session/engine"
)

// gateway is an Engine with what a session core does for it: it remembers what the
// journal says, and wakes the callers.
type gateway struct {
	*engine.Engine
	table ledger.Table
	mu    sync.Mutex // guards the fields below
	past  map[string]*journal
	wakes map[*contender.Caller]chan bool // true: granted; closed: over
	// What the owner was told.
	paths   map[*contender.Caller]engine.Path
	queued  map[*contender.Caller]int
	ended   map[*contender.Caller]contender.Reason
	renewed []renewed
}

type renewed struct {
	left time.Duration
	err  error
}

type journal struct {
	intent bool
	past   contender.Past
}

func (g *gateway) Journal(name string, es []contender.Entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	j := g.past[name]
	if j == nil {
		j = &journal{}
		g.past[name] = j
	}
	for _, e := range es {
		switch e.Kind {
		case contender.Intent:
			j.intent = true
		case contender.Clear:
			j.intent = false
		case contender.Deadline:
			j.past.Deadline = e.Deadline
		case contender.LetIn:
			if j.past.ID != e.Hold {
				j.past.Callers = nil
			}
			j.past.ID, j.past.Mode, j.past.Deadline = e.Hold, e.Caller.Mode, e.Deadline
			c := *e.Caller
			j.past.Callers = append(j.past.Callers, &c)
		case contender.End:
			for i, c := range j.past.Callers {
				if c.Owner == e.Caller.Owner {
					j.past.Callers = append(j.past.Callers[:i:i], j.past.Callers[i+1:]...)
					break
				}
			}
		case contender.Released, contender.Lease:
		}
	}
}

func (g *gateway) wake(c *contender.Caller) chan bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.wakes[c]
}

func (g *gateway) Granted(c *contender.Caller, p engine.Path) engine.Turn {
	g.mu.Lock()
	g.paths[c] = p
	g.mu.Unlock()
	select {
	case g.wake(c) <- true:
	default:
	}
	return nil
}

func (g *gateway) Ended(c *contender.Caller, why contender.Reason) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended[c] = why
	if wake := g.wakes[c]; wake != nil { // else nobody waits for it
		close(wake)
	}
}

func (g *gateway) Written(*contender.Caller)           {}
func (g *gateway) Jeopardy([]*contender.Caller, error) {}
func (g *gateway) Answered(*contender.Contender)       {}
func (g *gateway) Queued(c *contender.Caller) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queued[c]++
}

func (g *gateway) Renewed(_ []*contender.Caller, _ ledger.Renewal, _, left time.Duration, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.renewed = append(g.renewed, renewed{left, err})
}

// deadline is when the hold of c is over, unless it is prolonged before.
func (g *gateway) deadline(name string, c *contender.Caller) (d time.Duration) {
	g.Find(name).See(func(k *contender.Contender, _ time.Duration) { d = k.Deadline(c) })
	return d
}

func config(node string) engine.Config {
	alarm, err := boottime.New()
	if err != nil {
		panic(err)
	}
	return engine.Config{
		Config: contender.Config{
			Node: node, Turns: 64, TurnTime: 50 * time.Millisecond, Offer: 100 * time.Millisecond, Retry: 5 * time.Millisecond, RetryMost: 50 * time.Millisecond,
			Margin: func(ttl time.Duration) time.Duration { return max(ttl/100, 20*time.Millisecond) },
		},
		Timeout: time.Second, Idle: 4, Clock: boottime.Now, Alarm: alarm,
	}
}

func open(t ledger.Table, cfg engine.Config, past map[string]*journal) *gateway {
	g := &gateway{table: t, past: map[string]*journal{}, wakes: map[*contender.Caller]chan bool{}, paths: map[*contender.Caller]engine.Path{}, queued: map[*contender.Caller]int{}, ended: map[*contender.Caller]contender.Reason{}}
	g.Engine = engine.New(t, g, cfg)
	for name, j := range past {
		if j.intent {
			for _, c := range j.past.Callers {
				g.wakes[c] = make(chan bool, 1)
			}
			g.past[name] = &journal{true, j.past}
			_, begin := g.Recover(name, j.past)
			begin(false)
		}
	}
	return g
}

// storm is what all gateways together have been told.
type storm struct {
	t *testing.T

	mu     sync.Mutex
	held   map[string]map[*contender.Caller]time.Duration // until when, by what it was told
	fences map[string]backend.Fence                       // the newest that was told to one who is alone
	grants int
}

func (s *storm) told(name string, c *contender.Caller, until time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := boottime.Now()
	h := s.held[name]
	if h == nil {
		h = map[*contender.Caller]time.Duration{}
		s.held[name] = h
	}
	others := 0
	for x, t := range h {
		if t > now && (c.Mode == backend.Exclusive || x.Mode == backend.Exclusive || c.Mode.Limit() > 0) {
			others++
		}
	}
	if others > max(c.Mode.Limit()-1, 0) {
		s.t.Errorf("%s: %s is told that it holds %v, and %d others do until %v", name, c.Owner, c.Mode, others, h)
	}
	if c.Mode == backend.Exclusive {
		if c.Fence <= s.fences[name] {
			s.t.Errorf("%s: fence %d after %d", name, c.Fence, s.fences[name])
		}
		s.fences[name] = c.Fence
	}
	h[c] = until
	s.grants++
}

func (s *storm) over(name string, c *contender.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held[name], c)
}

// lock has one caller wait for the name, hold it and release it, or hang up.
func (s *storm) lock(g *gateway, name string, c *contender.Caller, patience time.Duration) bool {
	wake := make(chan bool, 1)
	g.mu.Lock()
	g.wakes[c] = wake
	g.mu.Unlock()
	_, errand, err := g.Enter(name, c)
	if err != nil {
		return false
	}
	errand.Do(context.Background())
	t := time.NewTimer(patience)
	defer t.Stop()
	for {
		select {
		case granted := <-wake:
			switch {
			case !granted:
				return c.NoWait
			case !g.Find(name).Accept(c):
				continue
			}
			s.told(name, c, g.deadline(name, c))
			select {
			case <-time.After(rand.N(time.Millisecond)):
			case <-wake: // lost
			}
			s.over(name, c)
			g.Find(name).Release(c).Do(context.Background())
			return true
		case <-t.C:
			g.Find(name).Release(c).Do(context.Background())
			return false
		}
	}
}

// Many gateways, callers and names over one store with faults: nobody holds what another
// holds, fences grow, and when the faults are over everybody is served.
func TestStorm(t *testing.T) {
	for name, mode := range map[string]backend.Mode{"locks": backend.Exclusive, "shared": backend.Shared, "semaphores": 3} {
		for _, faults := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, faults %v", name, faults), func(t *testing.T) {
				t.Parallel()
				rows := memory.NewRows()
				runStorm(t, mode, faults, func(node string) ledger.Table { return memory.OpenTable(rows, node) })
			})
		}
	}
}

func runStorm(t *testing.T, mode backend.Mode, faults bool, table func(node string) ledger.Table) {
	const gateways, callers, names = 3, 6, 2
	s := &storm{t: t, held: map[string]map[*contender.Caller]time.Duration{}, fences: map[string]backend.Fence{}}
	gs := make([]*gateway, gateways)
	count := 0
	var wrapped []*tabletest.Faulty
	for i := range gs {
		node := fmt.Sprintf("n%d", i)
		f := &tabletest.Faulty{Table: table(node), Delay: 300 * time.Millisecond}
		if faults {
			f.Lost, f.Unanswered, f.Late, f.Refused, f.Message = 40, 40, 40, 40, 10
		}
		wrapped = append(wrapped, f)
		gs[i] = open(f, config(node), nil)
	}
	begin := time.Now()
	goesOn := func() bool { // on a slow machine for longer, so that it proves something
		faulted := 0
		for _, f := range wrapped {
			faulted += int(f.Count.Load())
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		d := time.Since(begin)
		return d < 2*time.Second || d < 30*time.Second && (s.grants < 100 || faults && faulted < 50)
	}
	var wg sync.WaitGroup
	for i, g := range gs {
		for j := range callers {
			wg.Go(func() {
				for k := 0; goesOn(); k++ {
					c := &contender.Caller{
						Mode: mode, TTL: time.Second, Owner: backend.Owner(fmt.Sprintf("n%d.%d.%d", i, j, k)),
						NoWait: rand.IntN(8) == 0, Fixed: rand.IntN(8) == 0,
					}
					if mode == backend.Shared && rand.IntN(3) == 0 {
						c.Mode = backend.Exclusive
					}
					if !s.lock(g, fmt.Sprintf("name%d", rand.IntN(names)), c, 20*time.Second) && !c.NoWait && !t.Failed() {
						t.Errorf("%s was not served in 20 s", c.Owner)
					}
				}
			})
		}
	}
	wg.Wait()
	for i, g := range gs {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		if err := g.Close(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		count += int(wrapped[i].Count.Load())
		if err := wrapped[i].Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d grants, %d faults", s.grants, count)
	if s.grants < 50 || faults && count < 20 {
		t.Errorf("%d grants and %d faults prove little", s.grants, count)
	}
}
