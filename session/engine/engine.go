// Package engine runs the contenders of one node over a store: it carries out what they
// ask for (package contender decides everything), and tells them what comes of it.
//
// It owns what a pure machine cannot have: the clock, one alarm for all names, a mutex
// for each, the goroutines that carry requests, and the watchdog that renews many leases
// with one request. A caller with nothing to do but wait for a request carries it itself
// (Errand), which saves two switches between goroutines.
package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// Config of an Engine.
type Config struct {
	contender.Config
	// Timeout is how long a request to the store may take.
	Timeout time.Duration
	// Idle is how many names that nobody here uses are remembered: who uses one of them
	// again needs one request, not two.
	Idle int
	// Recovers: names will be given to Recover, and no message is heard before Recovered is
	// called. One about a name that is not known yet would have this node let go of what
	// the process before it holds.
	Recovers bool
	// Clock never goes back, and goes on while the machine sleeps; Alarm goes off by it,
	// and is closed by the Engine.
	Clock func() time.Duration
	Alarm *boottime.Alarm
}

// Owner is told what becomes of the callers. Its methods are called with the name
// locked: they must not block, and must not call the Engine.
type Owner interface {
	// Journal has es written before anything else happens.
	Journal(name string, es []contender.Entry)
	// Granted: c may be told that it holds the name, by Accept. Who does so is the Turn; nil:
	// somebody does who needs nothing for it.
	Granted(c *contender.Caller, path Path) Turn
	// Queued: c, who is Curious, has to wait.
	Queued(c *contender.Caller)
	// Ended: the wait or the hold of c is over.
	Ended(c *contender.Caller, r contender.Reason)
	// Written: the store knows how often c has entered.
	Written(c *contender.Caller)
	// Renewed: a renewal was answered, or err says why not. in are those who are let in, r
	// has the name. It took took, and left is what was left of the lease before, when the
	// answer came.
	Renewed(in []*contender.Caller, r ledger.Renewal, took, left time.Duration, err error)
	// Jeopardy: a renewal got no answer; what those who are in hold still stands.
	Jeopardy(in []*contender.Caller, err error)
	// Answered: the store has answered a request, or has not; c, which must only be read,
	// knows what it said.
	Answered(c *contender.Contender)
}

// Engine runs the contenders of a node. Make it with New.
type Engine struct {
	table    ledger.Table
	cfg      Config
	owner    Owner
	wg       sync.WaitGroup
	timers   timers
	renewals renewals
	asks     asks
	limit    limit
	ear      ear
	deaf     atomic.Bool // until Recovered

	mu     sync.Mutex // guards the fields below; it may be locked under Name.mu
	names  map[string]*Name
	idle   map[*Name]struct{}
	keeps  map[*Name]struct{} // in use for what is kept alone, see contender.Keeps
	closed bool
	empty  chan struct{} // closed when no other name is in use; set by Close
}

// New makes an Engine over t, which it listens to. Close it before t.
func New(t ledger.Table, o Owner, cfg Config) *Engine {
	e := &Engine{table: t, cfg: cfg, owner: o, names: map[string]*Name{}, idle: map[*Name]struct{}{}, keeps: map[*Name]struct{}{}}
	e.timers.start(e)
	e.renewals.start(e)
	e.limit.timeout = cfg.Timeout
	e.asks.start(e)
	e.ear.start(e)
	e.deaf.Store(cfg.Recovers)
	t.Listen(e.heard)
	return e
}

// Recover makes the contender of a name of which the journal says that something of
// this node may be in the store. It is called before any other method for that name.
// Nothing happens before begin, which is called once: it may end holds. What is asked of the
// store is carried out before begin returns if wait is set, as it has to be in a store that
// ends with the process: it must know all holds before it grants any.
func (e *Engine) Recover(lock string, past contender.Past) (n *Name, begin func(wait bool)) {
	c, effects := contender.Recover(e.cfg.Clock(), &e.cfg.Config, past)
	n = &Name{e: e, name: lock, c: c}
	e.mu.Lock()
	e.names[lock] = n
	e.mu.Unlock()
	return n, func(wait bool) {
		errand := n.apply(Direct, func(*contender.Contender, time.Duration) contender.Effects { return effects })
		if wait {
			errand.Do(context.Background())
		} else {
			errand.Launch()
		}
	}
}

// Recovered says that Recover was called for all names that Config.Recovers speaks of.
func (e *Engine) Recovered() {
	e.deaf.Store(false)
	e.resync()
}

// resync: messages may have been missed.
func (e *Engine) resync() {
	for _, n := range e.all() {
		n.apply(Push, (*contender.Contender).Resync).Launch()
	}
}

// ErrClosed: the Engine is going away.
var ErrClosed = errors.New("the engine is closed")

// Enter has c wait for a name. The Errand, which may be nil, has to be done by the
// caller before it waits for anything, or launched.
func (e *Engine) Enter(lock string, c *contender.Caller) (*Name, *Errand, error) {
	return e.apply(lock, Direct, func(n *Name, now time.Duration) contender.Effects { return n.c.Enter(now, c) })
}

// apply is Name.apply on the name, which is made if it is not there.
func (e *Engine) apply(lock string, cause Path, f func(n *Name, now time.Duration) contender.Effects) (*Name, *Errand, error) {
	for {
		n := e.find(lock, true)
		if n == nil {
			return nil, nil, ErrClosed
		}
		dropped := true
		errand := n.apply(cause, func(_ *contender.Contender, now time.Duration) contender.Effects {
			dropped = false
			return f(n, now)
		})
		if !dropped {
			return n, errand, nil
		}
	}
}

// Find is the name; nil: it is not known here.
func (e *Engine) Find(lock string) *Name { return e.find(lock, false) }

// Each calls f with each name that is known here.
func (e *Engine) Each(f func(*Name)) {
	for _, n := range e.all() {
		f(n)
	}
}

// find is the name; nil: it is not there. add: make it then, unless the Engine is closed.
func (e *Engine) find(lock string, add bool) *Name {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.names[lock]
	if add && e.closed {
		return nil
	}
	if n == nil && add {
		n = &Name{e: e, name: lock, c: contender.New(&e.cfg.Config)}
		e.names[lock] = n
	}
	return n
}

// keep remembers n, which is locked. If it is not in use, others may be dropped for it.
func (e *Engine) keep(n *Name, used bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if delete(e.keeps, n); n.c.Keeps() {
		e.keeps[n] = struct{}{}
	}
	if delete(e.idle, n); !used {
		e.rememberLocked(n)
	}
	if e.empty != nil && e.emptyLocked() {
		close(e.empty)
		e.empty = nil
	}
}

func (e *Engine) emptyLocked() bool { return len(e.names) == len(e.idle)+len(e.keeps) }

// rememberLocked has n, which is locked and not in use, stay for its next user.
func (e *Engine) rememberLocked(n *Name) {
	e.idle[n] = struct{}{}
	for old := range e.idle {
		if len(e.idle) <= e.cfg.Idle {
			break
		}
		if old == n || old.mu.TryLock() { // one that is in use just now stays
			old.drop()
			delete(e.idle, old)
			delete(e.names, old.name)
			e.timers.set(old, 0)
			if old != n {
				old.mu.Unlock()
			}
		}
	}
}

// heard takes a message from the store.
func (e *Engine) heard(m ledger.Addressed) {
	switch {
	case e.ear.heard(m.Kind):
	case e.deaf.Load(): // Recovered has all names ask
	case e.asks.heard(m):
	case m.Kind == ledger.Resync:
		e.resync()
	default:
		_, errand, _ := e.apply(m.Name, Push, func(n *Name, now time.Duration) contender.Effects {
			n.nudged = n.c.Flight() != nil // what is asked after that answer is asked because of it
			return n.c.Message(now, m.Kind, m.Reply)
		})
		errand.Launch()
	}
}

func (e *Engine) all() []*Name {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.allLocked()
}

func (e *Engine) allLocked() []*Name { return slices.Collect(maps.Values(e.names)) }

// Close takes no new callers and waits, until ctx is done, for the store to have nothing
// of this node any more, but for what is kept for its min_hold: that is left as Abandon does.
// The callers have to be released before, or never are.
func (e *Engine) Close(ctx context.Context) (err error) {
	empty := make(chan struct{})
	e.mu.Lock()
	e.closed = true
	if e.emptyLocked() {
		close(empty)
	} else {
		e.empty = empty
	}
	e.mu.Unlock()
	select {
	case <-empty:
	case <-ctx.Done():
		err = errors.New("the store has not confirmed every release; those locks are free when their leases run out")
	}
	e.Abandon()
	return err
}

// Abandon stops where it is, as if the process had ended: what is held stays in the
// store until the leases run out, or until the next process takes it up.
func (e *Engine) Abandon() {
	e.mu.Lock()
	e.closed = true
	all := e.allLocked() // none comes after them
	clear(e.names)
	clear(e.idle)
	clear(e.keeps)
	e.mu.Unlock()
	for _, n := range all {
		n.mu.Lock()
		n.drop()
		n.mu.Unlock()
	}
	e.renewals.crew.stop()
	e.asks.theirs.stop()
	e.ear.stop()
	e.timers.stop()
	e.wg.Wait()
	e.limit.stop()
}
