package engine

import (
	"errors"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// Name is a contender with what it needs of the world. An Engine that nobody uses for a
// name any more, or that is closed, drops it: then the methods do nothing. They do nothing on
// nil, either.
type Name struct {
	e    *Engine
	name string

	mu      sync.Mutex // guards the fields below
	c       *contender.Contender
	gone    bool          // dropped: look the name up again
	trouble error         // why the store gave no answer, the last time
	at      time.Duration // when it gave none
	failure error         // what trouble was when there last was some
	nudged  bool          // a message has come since the last request was sent
	given   chan struct{} // closed when the store has nothing that nobody uses; nil: nobody asks
	owed    bool          // as it was dropped, the store had

	due slot // guarded by timers.mu
}

// event is what happens to a contender.
type event func(c *contender.Contender, now time.Duration) contender.Effects

// Tick ends what is over by now.
func (n *Name) Tick() { n.apply(Poll, (*contender.Contender).Tick).Launch() }

// Accept says that c is being told that it holds the name. false: it must not be, and
// waits again.
func (n *Name) Accept(c *contender.Caller) (ok bool) {
	n.apply(Direct, func(k *contender.Contender, now time.Duration) (f contender.Effects) {
		ok, f = k.Accept(now, c)
		return f
	}).Launch()
	return ok
}

// Release ends the wait or the hold of c. The Errand is as that of Enter.
func (n *Name) Release(c *contender.Caller) *Errand {
	return n.apply(Direct, func(k *contender.Contender, now time.Duration) contender.Effects { return k.Release(now, c) })
}

// ReleaseIf is Release if ok says so, which is called with the name locked, and not at all if
// the Engine has given n up.
func (n *Name) ReleaseIf(c *contender.Caller, ok func(k *contender.Contender) bool) *Errand {
	return n.apply(Direct, func(k *contender.Contender, now time.Duration) contender.Effects {
		if !ok(k) {
			return k.Tick(now)
		}
		return k.Release(now, c)
	})
}

// LoseIf ends the hold of c for a reason, if ok says so, which is called with the name locked,
// only reads, and is not called at all if the Engine has given n up. The Errand is as that of Enter.
func (n *Name) LoseIf(c *contender.Caller, why contender.Reason, ok func(k *contender.Contender, now time.Duration) bool) *Errand {
	return n.apply(Direct, func(k *contender.Contender, now time.Duration) contender.Effects {
		if !ok(k, now) {
			return k.Tick(now)
		}
		return k.Lose(now, c, why)
	})
}

// SetEntries has the store know how often c has entered; Owner.Written tells when it
// does. The Errand is as that of Enter.
func (n *Name) SetEntries(c *contender.Caller, entries int) *Errand {
	return n.apply(Direct, func(k *contender.Contender, now time.Duration) contender.Effects {
		return k.SetEntries(now, c, entries)
	})
}

// Hurry: c, who waits, wants an answer now.
func (n *Name) Hurry(c *contender.Caller) {
	n.apply(Direct, func(k *contender.Contender, now time.Duration) contender.Effects { return k.Hurry(now, c) }).Launch()
}

// Describe has what people are told about the callers written again.
func (n *Name) Describe() { n.apply(Direct, (*contender.Contender).Describe).Launch() }

// Loosen puts the fixed lease of c under the watchdog.
func (n *Name) Loosen(c *contender.Caller) {
	n.apply(Direct, func(k *contender.Contender, now time.Duration) contender.Effects { return k.Loosen(now, c) }).Launch()
}

// Given is closed as soon as the store has nothing of this node that nobody here has or
// wants, or the name is dropped; nil: it has nothing now.
func (n *Name) Given() <-chan struct{} {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone || !n.c.Owes() {
		return nil
	}
	if n.given == nil {
		n.given = make(chan struct{})
	}
	return n.given
}

// Owed: n was dropped before the store had confirmed that it has nothing of this node that
// nobody here has or wants.
func (n *Name) Owed() bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.owed
}

// See runs f, which only reads, with the name locked. false: the name is dropped, and f was not
// called.
func (n *Name) See(f func(c *contender.Contender, now time.Duration)) bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.gone {
		f(n.c, n.e.cfg.Clock())
	}
	return !n.gone
}

// Gone: the Engine has given n up.
func (n *Name) Gone() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.gone
}

// Trouble is why the store gave no answer, the last time that it was asked; nil: it gave
// one. When to ask again counts from now. It is for use in See.
func (n *Name) Trouble() error {
	var later *backend.Later
	if !errors.As(n.trouble, &later) {
		return n.trouble
	}
	return &backend.Later{Err: n.trouble, After: max(0, later.After-(n.e.cfg.Clock()-n.at))}
}

// Failure is the last Trouble that there was, though the store may have answered since; nil:
// there was none. It is for use in See.
func (n *Name) Failure() error { return n.failure }

// apply carries out what f returns, unless n is gone. What has to be sent is left to who
// calls.
func (n *Name) apply(cause Path, f event) *Errand {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone {
		return nil
	}
	defer n.settle()
	return n.carryOut(f(n.c, n.e.cfg.Clock()), cause, Local)
}

// answered takes the answer to a request that was sent for that cause.
func (n *Name) answered(cause Path, r ledger.Reply, err error) {
	next := n.take(cause, r, err)
	next.Tell()
	next.Launch()
}

func (n *Name) take(cause Path, r ledger.Reply, err error) *Errand {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.gone { // who releases may have brought this answer, and tells of it
		n.owed = n.owed && (err != nil || !r.Written || r.Record.Has(n.e.cfg.Node))
		return nil
	}
	n.trouble, n.at = err, n.e.cfg.Clock()
	if err != nil {
		n.failure = err
	}
	next := cause
	if n.nudged {
		next, n.nudged = Push, false
	}
	defer n.settle()
	errand := n.carryOut(n.c.Reply(n.e.cfg.Clock(), r, err), next, cause)
	n.e.owner.Answered(n.c)
	return errand
}

// carryOut does what n's contender asks for, in its order. cause is why it sends, granted
// how it grants.
func (n *Name) carryOut(f contender.Effects, cause, granted Path) *Errand {
	e := n.e
	if len(f.Journal) > 0 {
		e.owner.Journal(n.name, f.Journal)
	}
	var turn Turn
	for _, c := range f.Granted {
		switch t := e.owner.Granted(c, granted); {
		case t == nil:
		case turn == nil:
			turn = t
		default:
			go t.Take()
		}
	}
	for _, c := range f.Queued {
		e.owner.Queued(c)
	}
	for _, x := range f.Ended {
		e.owner.Ended(x.Caller, x.Reason)
	}
	for _, c := range f.Written {
		e.owner.Written(c)
	}
	if f.Jeopardy {
		e.owner.Jeopardy(n.c.In(), n.trouble)
	}
	if nodes := f.Ask; len(nodes) > 0 { // f itself stays on the stack
		e.wg.Go(func() { n.recall(nodes) })
	}
	if f.Renew != nil {
		e.renewals.add(n, *f.Renew)
	}
	e.timers.set(n, f.Timer)
	if f.Send != nil {
		e.wg.Add(1)
	} else if turn == nil {
		return nil
	}
	return &Errand{n, turn, f.Send, cause}
}

// settle keeps or drops a name of which nothing is to be done any more.
func (n *Name) settle() {
	if n.given != nil && !n.c.Owes() {
		close(n.given)
		n.given = nil
	}
	n.e.keep(n, !n.c.Quiet())
}

// drop: n is not used any more. n.mu is locked.
func (n *Name) drop() {
	n.owed = n.c.Owes()
	n.gone = true
	if n.given != nil {
		close(n.given)
		n.given = nil
	}
}
