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
	"fmt"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
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
	// Granted: c may be told that it holds the name, by Accept.
	Granted(c *contender.Caller)
	// Ended: the wait or the hold of c is over.
	Ended(c *contender.Caller, r contender.Reason)
	// Written: the store knows how often c has entered.
	Written(c *contender.Caller)
	// Jeopardy: a renewal of the name got no answer; what is held still stands.
	Jeopardy(name string, err error)
}

// Engine runs the contenders of a node. Make it with New.
type Engine struct {
	table    ledger.Table
	cfg      Config
	owner    Owner
	wg       sync.WaitGroup
	timers   timers
	renewals renewals

	mu     sync.Mutex // guards the fields below; it may be locked under Name.mu
	names  map[string]*name
	idle   map[*name]struct{}
	closed bool
	empty  chan struct{} // closed when no name is in use; set by Close
}

// name is a contender with what it needs of the world.
type name struct {
	e    *Engine
	name string

	mu      sync.Mutex // guards the fields below
	c       *contender.Contender
	gone    bool  // dropped: look the name up again
	trouble error // why the store gave no answer, the last time

	due slot // guarded by timers.mu
}

// New makes an Engine over t, which it listens to. Close it before t.
func New(t ledger.Table, o Owner, cfg Config) *Engine {
	e := &Engine{table: t, cfg: cfg, owner: o, names: map[string]*name{}, idle: map[*name]struct{}{}}
	e.timers.start(e)
	e.renewals.e = e
	t.Listen(e.heard)
	return e
}

// Recover makes the contender of a name of which the journal says that something of
// this node may be in the store. It is called before any other method for that name.
// What it asks of the store is carried out before Recover returns if wait is set, as it
// has to be in a store that ends with the process: it must know all holds before it
// grants any.
func (e *Engine) Recover(lock string, past contender.Past, wait bool) {
	n := &name{e: e, name: lock}
	e.mu.Lock()
	e.names[lock] = n
	e.mu.Unlock()
	n.mu.Lock()
	c, effects := contender.Recover(e.cfg.Clock(), &e.cfg.Config, past)
	n.c = c
	errand := n.carryOut(effects, wait)
	n.mu.Unlock()
	errand.Do(context.Background())
}

// ErrClosed: the Engine is going away.
var ErrClosed = errors.New("the engine is closed")

// Enter has c wait for a name. The Errand, which may be nil, has to be done by the
// caller before it waits for anything.
func (e *Engine) Enter(lock string, c *contender.Caller) (*Errand, error) {
	var errand *Errand
	err := e.with(lock, true, func(n *name) {
		errand = n.carryOut(n.c.Enter(e.cfg.Clock(), c), true)
	})
	return errand, err
}

// Accept says that c is being told that it holds the name. false: it must not be, and
// waits again.
func (e *Engine) Accept(lock string, c *contender.Caller) (ok bool) {
	_ = e.with(lock, false, func(n *name) {
		var effects contender.Effects
		ok, effects = n.c.Accept(e.cfg.Clock(), c)
		n.carryOut(effects, false)
	})
	return ok
}

// Release ends the wait or the hold of c. The Errand is as that of Enter.
func (e *Engine) Release(lock string, c *contender.Caller) (errand *Errand) {
	_ = e.with(lock, false, func(n *name) { errand = n.carryOut(n.c.Release(e.cfg.Clock(), c), true) })
	return errand
}

// Lose ends the hold of c for a reason.
func (e *Engine) Lose(lock string, c *contender.Caller, r contender.Reason) {
	e.apply(lock, func(k *contender.Contender, now time.Duration) contender.Effects { return k.Lose(now, c, r) })
}

// SetEntries has the store know how often c has entered; Owner.Written tells when it does.
func (e *Engine) SetEntries(lock string, c *contender.Caller, entries int) {
	e.apply(lock, func(k *contender.Contender, now time.Duration) contender.Effects {
		return k.SetEntries(now, c, entries)
	})
}

// Deadline is when the hold of c is over, unless it is prolonged before; 0: it is over.
func (e *Engine) Deadline(lock string, c *contender.Caller) (d time.Duration) {
	_ = e.with(lock, false, func(n *name) { d = n.c.Deadline(c) })
	return d
}

func (e *Engine) apply(lock string, f func(*contender.Contender, time.Duration) contender.Effects) {
	_ = e.with(lock, false, func(n *name) { n.carryOut(f(n.c, e.cfg.Clock()), false) })
}

// with runs f on the name, locked. add: make it if it is not there.
func (e *Engine) with(lock string, add bool, f func(*name)) error {
	for {
		n := e.find(lock, add)
		if n == nil {
			return ErrClosed
		}
		n.mu.Lock()
		if !n.gone {
			f(n)
			n.settle()
			n.mu.Unlock()
			return nil
		}
		n.mu.Unlock()
	}
}

func (e *Engine) find(lock string, add bool) *name {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := e.names[lock]
	if add && e.closed {
		return nil
	}
	if n == nil && add {
		n = &name{e: e, name: lock, c: contender.New(&e.cfg.Config)}
		e.names[lock] = n
	}
	return n
}

// settle keeps or drops a name of which nothing is to be done any more.
func (n *name) settle() {
	e := n.e
	quiet := n.c.Quiet()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !quiet {
		delete(e.idle, n)
		return
	}
	e.idle[n] = struct{}{}
	for old := range e.idle {
		if len(e.idle) <= e.cfg.Idle {
			break
		}
		if old == n || old.mu.TryLock() { // one that is in use just now stays
			old.gone = true
			delete(e.idle, old)
			delete(e.names, old.name)
			e.timers.remove(old)
			if old != n {
				old.mu.Unlock()
			}
		}
	}
	if e.empty != nil && len(e.names) == len(e.idle) {
		close(e.empty)
		e.empty = nil
	}
}

// carryOut does what n's contender asks for, in its order. What it sends is returned as
// an errand if the caller can carry it.
func (n *name) carryOut(f contender.Effects, carries bool) *Errand {
	e := n.e
	if len(f.Journal) > 0 {
		e.owner.Journal(n.name, f.Journal)
	}
	for _, c := range f.Granted {
		e.owner.Granted(c)
	}
	for _, x := range f.Ended {
		e.owner.Ended(x.Caller, x.Reason)
	}
	for _, c := range f.Written {
		e.owner.Written(c)
	}
	if f.Jeopardy {
		e.owner.Jeopardy(n.name, n.trouble)
	}
	if f.Renew != nil {
		e.renewals.add(n, *f.Renew)
	}
	e.timers.set(n, f.Timer)
	if f.Send == nil {
		return nil
	}
	e.wg.Add(1)
	errand := &Errand{n, f.Send}
	if carries {
		return errand
	}
	go errand.Do(context.Background())
	return nil
}

// Errand is a request to the store that a caller carries.
type Errand struct {
	n *name
	q *contender.Request
}

// Do brings the request to the store and the answer back, which takes Config.Timeout at
// most: the end of ctx does not end it, for the answer is not the caller's alone. A
// defect of the store counts as no answer. It is called once; on nil it does nothing.
func (r *Errand) Do(ctx context.Context) {
	if r == nil {
		return
	}
	n, e := r.n, r.n.e
	defer e.wg.Done()
	reply, err := ledger.Reply{}, errDefect
	defer func() {
		n.do(func(c *contender.Contender, now time.Duration) contender.Effects {
			n.trouble = err
			return c.Reply(now, reply, err)
		})
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.cfg.Timeout)
	defer cancel()
	switch q := r.q; {
	case q.Swap != nil:
		s := *q.Swap
		s.Name = n.name
		reply, err = e.table.Swap(ctx, s)
	case q.Join != nil:
		reply, err = e.table.Join(ctx, n.name, *q.Join, q.Floor)
	default:
		reply, err = e.table.Look(ctx, n.name)
	}
}

var errDefect = fmt.Errorf("%w: a defect of the gateway", backend.ErrUnavailable)

// heard takes a message from the store.
func (e *Engine) heard(m ledger.Addressed) {
	if m.Kind != ledger.Resync {
		_ = e.with(m.Name, true, func(n *name) { n.carryOut(n.c.Message(e.cfg.Clock(), m.Kind, m.Reply), false) })
		return
	}
	for _, n := range e.all() {
		n.do((*contender.Contender).Resync)
	}
}

// do carries out what f returns, unless n is gone.
func (n *name) do(f func(c *contender.Contender, now time.Duration) contender.Effects) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.gone {
		n.carryOut(f(n.c, n.e.cfg.Clock()), false)
		n.settle()
	}
}

func (e *Engine) all() []*name {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]*name, 0, len(e.names))
	for _, n := range e.names {
		out = append(out, n)
	}
	return out
}

// Names is how many names are in use or remembered.
func (e *Engine) Names() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.names)
}

// Close takes no new callers and waits, until ctx is done, for the store to have nothing
// of this node any more. The callers have to be released before, or never are.
func (e *Engine) Close(ctx context.Context) (err error) {
	empty := make(chan struct{})
	e.mu.Lock()
	e.closed = true
	if len(e.names) == len(e.idle) {
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
	all := e.all()
	e.mu.Lock()
	e.closed = true
	clear(e.names)
	e.mu.Unlock()
	for _, n := range all {
		n.mu.Lock()
		n.gone = true
		n.mu.Unlock()
	}
	e.renewals.stop()
	e.timers.stop()
	e.wg.Wait()
}
