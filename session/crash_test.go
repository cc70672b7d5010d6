package session_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

var (
	crashSeeds = flag.Int("crashes", 60, "how many histories TestCrashes looks at")
	crashSeed  = flag.Uint64("crash-seed", 1, "the first of them")
)

// Whenever gateways are killed or stopped, no two clients count on a name at once, and its fences grow. Where
// the store answers, and they are back before a lease is over, who comes back holds what it held,
// and who does not is waited for.
func TestCrashes(t *testing.T) {
	grants := 0
	for i := range uint64(*crashSeeds) {
		c := newCrashes(t, *crashSeed+i)
		bubble(t, c.run)
		if len(c.faults) > 0 {
			t.Fatalf("seed %d: %s\n%s", c.seed, strings.Join(c.faults, "\n"), strings.Join(c.log, "\n"))
		}
		grants += c.grants
	}
	if grants < 10**crashSeeds {
		t.Errorf("%d grants in %d histories prove little", grants, *crashSeeds)
	}
}

const (
	crashTTL      = 10 * time.Second
	crashReattach = 2 * time.Second
	crashRounds   = 5 // of each client
)

// crashes is some nodes whose processes are killed, and their clients.
type crashes struct {
	seed  uint64
	calm  bool // the store answers
	clock session.Clock
	nodes []*mortal

	restarts sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	rng    *rand.Rand
	stints map[string][]*stint // by name; some are over
	last   map[string]backend.Fence
	broken map[string]time.Duration // by name: until when somebody was about to break it
	grants int
	faults []string
	log    []string
}

// stint is for how long a client counts on a hold.
type stint struct {
	by, name string
	mode     session.Acquire
	fence    backend.Fence
	since    time.Duration
	until    time.Duration // as it was last told
	over     bool
}

// ends: it may be over though its client lives.
func (a *stint) ends() bool { return a.mode.Fixed || a.mode.MaxHold > 0 }

// permits is the name of a semaphore, and how many it has.
const (
	permits     = "permits"
	mostPermits = 2
)

// excludes: a and b cannot both be, of one name, where so many others are.
func (a *stint) excludes(b *stint, others int) bool {
	if a.name == permits {
		return others >= mostPermits
	}
	return !a.mode.Shared || !b.mode.Shared
}

func newCrashes(_ *testing.T, seed uint64) *crashes {
	return &crashes{
		seed: seed, calm: seed%2 == 0, clock: fakeClock(), rng: rand.New(rand.NewPCG(seed, 3)),
		stints: map[string][]*stint{}, last: map[string]backend.Fence{}, broken: map[string]time.Duration{},
	}
}

func (c *crashes) random(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.IntN(n)
}

func (c *crashes) pause(most time.Duration) {
	time.Sleep(time.Duration(c.random(int(most/time.Microsecond))) * time.Microsecond)
}

func (c *crashes) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, fmt.Sprintf("%v ", c.clock())+fmt.Sprintf(format, args...))
}

func (c *crashes) fault(format string, args ...any) {
	c.say("FAULT "+format, args...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func (c *crashes) run(t *testing.T) {
	store := memory.NewRows()
	store.Keep = true
	for i := range 2 {
		n := &mortal{c: c, name: fmt.Sprint("n", i)}
		cfg := session.Config{
			TTL: crashTTL, Timeout: time.Second, Clock: c.clock, Session: session.Lifetime{Reattach: crashReattach},
			Delay: time.Duration(c.random(2)) * 300 * time.Millisecond,
			Fairness: session.Fairness{
				MaxTurns: 3, Retain: time.Duration(c.random(2)) * 300 * time.Millisecond,
				Strict: c.random(4) == 0, ExactOwner: c.random(4) == 0,
			},
		}
		n.begin(func() *process { return begin(t, store, cfg) })
		c.nodes = append(c.nodes, n)
	}
	over := make(chan struct{})
	var clients, deaths sync.WaitGroup
	deaths.Go(func() { c.breaks(over) })
	for i, n := range c.nodes {
		deaths.Go(func() { n.dieAgain(over) })
		for k := range 3 {
			clients.Go(func() { c.client(t, n, 10*i+k, k == 0) })
		}
	}
	clients.Wait()
	close(over)
	deaths.Wait()
	for _, n := range c.nodes {
		n.spare()
	}
	c.restarts.Wait()
	time.Sleep(time.Minute)
	synctest.Wait()
}

// mortal is a node whose process is killed again and again.
type mortal struct {
	c    *crashes
	name string

	mu     sync.Mutex // guards the fields below
	p      *process   // nil: there is none
	lives  int
	since  time.Duration
	lived  []time.Duration // for how long each process but the present one did
	doom   int             // after so many requests to the store it is killed; 0: not so
	spared bool            // it is not killed any more
}

// spare lets the node live from now on.
func (n *mortal) spare() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.spared = true
}

// begin has the node live by a process that start makes, which takes time: those who do not come
// back are waited for from within that.
func (n *mortal) begin(start func() *process) {
	since := n.c.clock()
	p := start()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.p, n.lives, n.since, n.doom = p, n.lives+1, since, 0
	if n.c.random(2) == 0 {
		n.doom = 1 + n.c.random(12)
	}
	p.f.set(n.around(p, 0), n.around(p, 1))
	n.c.say("%s lives for the %d. time, %d requests", n.name, n.lives, n.doom)
}

// around is a hook of the store's requests: they take time, may fail, and may be the last one.
func (n *mortal) around(p *process, side int) func(string) error {
	return func(string) error {
		n.c.pause(3 * time.Millisecond)
		if !n.c.calm && n.c.random(25) == 0 {
			return errLost
		}
		n.mu.Lock()
		last := false
		if n.p == p && n.doom > 0 && n.c.random(2) == side {
			n.doom--
			last = n.doom == 0
		}
		n.mu.Unlock()
		if last {
			n.kill(p)
			return errLost
		}
		return nil
	}
}

// kill ends p: nothing that it does from now on is seen by anybody.
func (n *mortal) kill(p *process) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.p != p || p == nil || n.spared {
		return
	}
	n.p, n.lived = nil, append(n.lived, n.c.clock()-n.since)
	_ = p.j.Close()
	p.f.set(always(errLost), nil)
	n.c.say("%s is killed", n.name)
	n.c.restarts.Go(func() {
		p.kill()
		n.c.pause(300 * time.Millisecond)
		n.begin(p.start)
	})
}

func (n *mortal) dieAgain(over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(n.c.random(4000*(1+3*n.c.random(2)))) * time.Millisecond):
			p := n.now()
			if p != nil && n.c.random(3) == 0 {
				n.c.say("%s is stopped", n.name)
				_ = p.stop(context.Background()) // a store that does not answer is why it is not whole
			}
			n.kill(p)
		}
	}
}

// now is the process that lives; nil: none does.
func (n *mortal) now() *process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.p
}

// alive waits for a process.
func (n *mortal) alive() *process {
	for {
		if p := n.now(); p != nil {
			return p
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (c *crashes) enter(st *stint) {
	now := c.clock()
	c.mu.Lock()
	last := c.last[st.name]
	c.last[st.name] = max(last, st.fence)
	var others []*stint
	for _, o := range c.stints[st.name] {
		if !o.over && now < o.until && !c.brokenLocked(o) && !c.brokenLocked(st) {
			others = append(others, o)
		}
	}
	c.stints[st.name] = append(others, st)
	c.grants++
	c.mu.Unlock()
	c.say("%s holds %s with fence %d until %v", st.by, st.name, st.fence, st.until)
	for _, o := range others {
		if st.excludes(o, len(others)) {
			c.fault("%s has %s, and %s until %v", st.by, st.name, o.by, o.until)
		}
		if st.fence == o.fence {
			c.fault("%s has fence %d of %s, and %s", st.by, st.fence, st.name, o.by)
		}
	}
	if alone := !st.mode.Shared && st.mode.Limit == 0; alone && st.fence <= last {
		c.fault("%s has fence %d of %s after %d", st.by, st.fence, st.name, last)
	}
}

func (c *crashes) told(st *stint, until time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	st.until = max(st.until, until)
}

// leave: the client does not count on st any more. Nobody else is let in before its time.
func (c *crashes) leave(st *stint) {
	c.mu.Lock()
	st.until = min(st.until, st.since+st.mode.MinHold)
	c.mu.Unlock()
	c.say("%s gives %s back, kept until %v", st.by, st.name, st.until)
}

func (c *crashes) lost(st *stint, why error) {
	gone := c.gone(st)
	c.mu.Lock()
	st.over = true
	c.mu.Unlock()
	if c.say("%s has lost %s: %v", st.by, st.name, why); c.calm && !gone {
		c.fault("%s has lost %s: %v", st.by, st.name, why)
	}
}

// deserted: nobody comes back for the hold. It lasts for session.reattach in each process.
func (c *crashes) deserted(n *mortal, st *stint) {
	c.say("%s deserts %s", st.by, st.name)
	begun, first := 0, 0 // the last process that was asked, and the first
	for end := c.clock() + time.Minute; c.clock() < end; time.Sleep(20 * time.Millisecond) {
		p := n.alive()
		n.mu.Lock()
		lives, start := n.lives, n.since
		n.mu.Unlock()
		first = cmp.Or(first, lives)
		info, err := p.Inspect(context.Background(), st.name)
		if n.now() != p {
			continue
		}
		since := c.clock() - start // the answer takes time, too
		n.mu.Lock()
		whole := slices.ContainsFunc(n.lived[first-1:], func(d time.Duration) bool { return d >= crashReattach }) // one has waited for long enough
		n.mu.Unlock()
		expired := st.ends() && c.clock() >= st.until
		switch free := err == nil && info.State == session.StateFree; {
		case free && c.clock() < st.since+st.mode.MinHold:
			c.fault("%s is free before its time", st.name)
			return
		case free && (expired || whole || since >= crashReattach):
			c.leave(st)
			return
		case free && (c.calm || c.clock() < st.until):
			c.fault("%s is free %v after the start of the %d. process, want %v; it was held in the %d.", st.name, since, lives, crashReattach, begun)
			return
		case free:
			return
		}
		begun = lives
	}
}
