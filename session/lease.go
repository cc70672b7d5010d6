package session

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session/contender"
	"github.com/lockgw/lockgw/session/engine"
)

// Lease is one hold of a session: it waits in the queue of its name, is granted, is
// told, and is over once.
//
// What it asks the contender of the name for, and what that has given, stands in c,
// which only the contender changes, and which is read with the name locked (see). The
// rest is guarded by mu. The order is: engine.Name, Lease.mu; and engine.Name,
// Session.mu.
type Lease struct {
	s      *Session // nil: of a session that is over; the name is kept for its min_hold
	m      *Manager
	n      *engine.Name // nil: it was over before this process began
	name   string
	thread int64
	c      contender.Caller
	known  int                    // entries of which somebody was told, or is about to be; guarded as c
	secret bool                   // not for the next process: nobody was told of it; guarded as c
	asked  time.Time              // when it began to wait; zero: before this process
	tries  bool                   // it came without wanting to wait
	repeat *receipt               // of the acquire, if that had a key
	done   chan struct{}          // closed when over
	parked atomic.Pointer[Waiter] // is poked when there is something to look at, if it is there

	parentCtx context.Context // of the acquire, as Observer.Detach made it; nil: none

	decided chan struct{} // guarded by Session.mu: closed when the acquire is over; nil: nobody waits for that

	mu       sync.Mutex // guards the fields below
	holder   Holder     // its Since: when it was granted, or began to wait
	shown    *Holder    // a copy of holder, see holderShown
	refused  contender.Reason
	granted  bool // it may be told
	hurried  bool // its wait is over, but for an answer of the store
	late     bool // likewise, and it did want to wait
	announce bool // is to be told that it has to wait
	untold   bool // nobody is told of the hold yet, so no min_hold keeps the name
	path     WakePath
	behind   backend.Owner // who the historian was told holds the name
	ending   *ending       // it is being released; or why it is about to be lost
	over     bool          // released or lost
	err      *Error        // why it is over, if it was not released
	busy     chan struct{} // closed when the change of the entries under way is done
	written  chan struct{} // of capacity 1: the store knows the entries; made by writeEntries
}

// ending is what is said of the end of a hold.
type ending struct {
	reason string
	answer *receipt // of the release
	forced bool     // it is lost
	// jeopardy is by what the hold was in jeopardy when it was released; "": it was not. Who has
	// let go of it because of that, as run does, has not lost it, and yet did not end as meant.
	jeopardy string
}

func newLease(s *Session, m *Manager, name string, thread int64) *Lease {
	l := &Lease{s: s, m: m, name: name, thread: thread, done: make(chan struct{})}
	l.c.Data = l
	return l
}

// leaseOf finds the lease of a caller.
func leaseOf(c *contender.Caller) *Lease { return c.Data.(*Lease) }

// admits: the holder of l may enter again in that mode.
func (l *Lease) admits(m backend.Mode) error {
	if m == l.c.Mode || m == backend.Shared && l.c.Mode == backend.Exclusive {
		return nil
	}
	detail := "this session and thread holds it in another mode; release that hold first"
	if m == backend.Exclusive && l.c.Mode == backend.Shared {
		detail = "this session and thread shares the lock and would wait for itself; release the shared hold first"
	}
	return &Error{Code: CodeConflict, Lock: l.name, Detail: detail}
}

// signal has who waits for l look at it again.
func (l *Lease) signal() {
	if w := l.parked.Load(); w != nil {
		w.poke()
	}
}

// Owner is the owner id.
func (l *Lease) Owner() backend.Owner { return l.c.Owner }

// Fence is the fencing token of the hold, the same for each entry.
func (l *Lease) Fence() (f backend.Fence) {
	f = l.c.Fence // of one that is over nobody changes it
	l.n.See(func(*contender.Contender, time.Duration) { f = l.c.Fence })
	return f
}

// see calls f, which must only read, with the name locked, if l is held. If not, it
// returns why: CodeLost, CodeNotOwner after a release, or CodeDraining where it was left to
// the next process. It looks at the clock itself: whoever is late to say so, a hold whose
// deadline has passed is lost.
func (l *Lease) see(f func(c *contender.Contender, now time.Duration)) *Error {
	held := false
	var expired *Error
	there := l.n.See(func(c *contender.Contender, now time.Duration) {
		if l.isOver() {
			return
		}
		if expired = l.overdue(c, now); expired == nil {
			held = true
			f(c, now)
		}
	})
	if held {
		return nil
	}
	over, why := l.isOver(), l.lostErr()
	switch {
	case why != nil:
		return why
	case expired != nil:
		return expired
	case !there && !over:
		return l.m.drainingError(l.name)
	default:
		return l.releasedError()
	}
}

// overdue is why l is lost though nobody has said so yet: its deadline has passed. nil: it has not.
func (l *Lease) overdue(c *contender.Contender, now time.Duration) *Error {
	switch {
	case now < c.Deadline(&l.c):
		return nil
	case l.c.MaxHoldAt != 0 && now >= l.c.MaxHoldAt:
		return l.lostError(reasonMaxHold)
	default:
		return l.lostError(reasonExpired)
	}
}

func (l *Lease) setUntold(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.untold = yes
}

func (l *Lease) isOver() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over || l.ending != nil && !l.ending.forced
}

// View is the hold as it is now, or the error that it is over: CodeLost, CodeNotOwner after
// a release, or CodeDraining where it was left to the next process. It looks at the clock itself, so that an answer
// made from it is true when it is made.
func (l *Lease) View() (View, error) {
	var v View
	silentAt, bySilence := l.s.silentAt()
	err := l.see(func(c *contender.Contender, now time.Duration) {
		wall, deadline := time.Now(), c.Deadline(&l.c)
		h := l.holderNow()
		v = View{
			Name: l.name, State: StateHeld, Owner: l.c.Owner, Thread: l.thread, Count: l.c.Entries, Fence: l.c.Fence,
			Left: deadline - now, Deadline: deadline, Expires: wall.Add(deadline - now),
			AutoRenew: !l.c.Fixed, Note: h.Note, Since: h.Since,
		}
		if bySilence {
			v.Deadline = min(deadline, silentAt)
		}
		if c.Failing() || c.Recovering() {
			v.State = StateJeopardy
		}
		if l.c.MaxHoldAt != 0 {
			v.MaxHoldAt = wall.Add(l.c.MaxHoldAt - now)
		}
	})
	return v, orNil(err)
}

// holderNow is who has l, for people.
func (l *Lease) holderNow() Holder {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.holder
}

// holderShown is holderNow of one who holds the name, for those who keep it: all have the
// same, which must not be changed.
func (l *Lease) holderShown() *Holder {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown == nil {
		h := l.holder
		l.shown = &h
	}
	return l.shown
}

// Done is closed when the hold is over.
func (l *Lease) Done() <-chan struct{} { return l.done }

// Err says why the hold is over, nil while it is not: CodeLost with the reason,
// CodeNotOwner after a release, or CodeDraining where it was left to the next process.
func (l *Lease) Err() error {
	return orNil(l.see(func(*contender.Contender, time.Duration) {}))
}

// entries is how often l was entered; 0: it is over.
func (l *Lease) entries() (n int) {
	_ = l.see(func(*contender.Contender, time.Duration) { n = l.c.Entries })
	return n
}

// leaseTTL is the ttl by which the watchdog renews l.
func (l *Lease) leaseTTL() (ttl time.Duration) {
	ttl = l.m.cfg.TTL
	_ = l.see(func(*contender.Contender, time.Duration) { ttl = l.c.TTL })
	return ttl
}

// lacks: l, which is entered again with that ttl, has to last for longer. One that nobody renews
// lasts for all of it from now on.
func (l *Lease) lacks(ttl time.Duration) (yes bool) {
	_ = l.see(func(c *contender.Contender, now time.Duration) {
		if yes = ttl > l.c.TTL; l.c.Fixed {
			yes = now+ttl-Margin(ttl) > c.LeaseEnd(&l.c)
		}
	})
	return yes
}

func (l *Lease) releasedError() *Error {
	return &Error{Code: CodeNotOwner, Lock: l.name, Detail: fmt.Sprintf("the hold with fence %d has been released", l.c.Fence)}
}

// lostErr is why l is lost, nil if it is not.
func (l *Lease) lostErr() *Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
