package session

import (
	"context"
	"fmt"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Lease is one hold of a session: it waits in its place's queue, is granted a
// turn, is told, and is over once.
type Lease struct {
	s       *Session
	p       *place
	name    string
	thread  int64
	owner   backend.Owner
	ttl     time.Duration
	fixed   bool
	mode    backend.Mode
	maxHold time.Duration // max_hold, 0: none
	minHold time.Duration // min_hold
	holder  Holder        // its Since: when it was granted, or began to wait
	asked   time.Time     // when it began to wait; zero: before this process
	repeat  *receipt      // of the acquire, if that had a key
	done    chan struct{} // closed when over
	wake    chan struct{} // of capacity 1: look at the fields below again

	parentCtx context.Context // of the acquire, as Observer.Detach made it; nil: none

	// The fields below are guarded by p.mu.
	prev, next   *Lease // in the queue
	queued       bool
	noWait       bool          // wants an answer now, does not wait
	curious      bool          // wants to hear once that it has to wait
	announce     bool          // is to be told so
	busy         chan struct{} // closed when the change of count under way is done
	phase        leasePhase
	acknowledged bool
	fence        backend.Fence
	path         WakePath
	ahead        int // waited here already when it came
	count        int
	maxHoldAt    time.Duration // on the clock; 0: never
	keepUntil    time.Duration // min_hold, on the clock
	err          *Error        // why it is over, or was refused
}

type leasePhase int

const (
	waiting leasePhase = iota
	granted            // its turn, from the moment the place has decided so
	kept               // released, but min_hold keeps the name
	over
)

// admits: the holder of l may enter again in that mode.
func (l *Lease) admits(m backend.Mode) error {
	if m == l.mode || m == backend.Shared && l.mode == backend.Exclusive {
		return nil
	}
	detail := "this session and thread holds it in another mode; release that hold first"
	if m == backend.Exclusive && l.mode == backend.Shared {
		detail = "this session and thread shares the lock and would wait for itself; release the shared hold first"
	}
	return &Error{Code: CodeConflict, Lock: l.name, Detail: detail}
}

func (l *Lease) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Name is the lock's name.
func (l *Lease) Name() string { return l.name }

// Thread is the second part of the owner id.
func (l *Lease) Thread() int64 { return l.thread }

// Owner is the owner id.
func (l *Lease) Owner() backend.Owner { return l.owner }

// Fence is the fencing token of the hold, the same for each entry.
func (l *Lease) Fence() backend.Fence {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	return l.fence
}

// View is the hold as it is now, or the error that it is over: CodeLost, or
// CodeNotOwner after a release. It looks at the clock itself, so that an answer
// made from it is true when it is made.
func (l *Lease) View() (View, error) {
	p := l.p
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.m.cfg.Clock()
	if err := l.errLocked(now); err != nil {
		return View{}, err
	}
	wall := time.Now()
	v := View{
		Name: l.name, State: StateHeld, Owner: l.owner, Thread: l.thread, Count: l.count, Fence: l.fence,
		Left: p.hold.deadline - now, Deadline: p.hold.deadline, Expires: wall.Add(p.hold.deadline - now),
		AutoRenew: !l.fixed, Note: l.holder.Note, Since: l.holder.Since,
	}
	if p.hold.failing {
		v.State = StateJeopardy
	}
	if l.maxHoldAt != 0 {
		v.MaxHoldAt = wall.Add(l.maxHoldAt - now)
	}
	return v, nil
}

// Done is closed when the hold is over.
func (l *Lease) Done() <-chan struct{} { return l.done }

// Err says why the hold is over, nil while it is not: CodeLost with the reason,
// or CodeNotOwner after a release.
func (l *Lease) Err() error {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	if err := l.errLocked(l.p.m.cfg.Clock()); err != nil {
		return err
	}
	return nil
}

func (l *Lease) errLocked(now time.Duration) *Error {
	switch {
	case l.err != nil:
		return l.err
	case l.phase != granted:
		return l.releasedError()
	case now >= l.p.hold.deadline:
		return l.lostError(reasonExpired) // whoever is late to say so, it is lost
	default:
		return nil
	}
}

// The reasons of a loss, as events name them.
const (
	reasonExpired    = "expired"
	reasonGone       = "gone"
	reasonMaxHold    = "max_hold"
	reasonSuperseded = "overtaken"
	reasonBroken     = "broken"
	reasonEnded      = "session_ended"
)

// LossBroken is the reason of a loss by Break.
const LossBroken = reasonBroken

var lossSentence = map[string]string{
	reasonExpired:    "its lease ran out before a renewal was confirmed",
	reasonGone:       "the store does not have it any more",
	reasonMaxHold:    "it has reached its max_hold",
	reasonSuperseded: "another gateway process speaks for this node",
	reasonBroken:     "an administrator has ended it",
	reasonEnded:      "an administrator has ended its session",
}

// LossSentence says in words what the reason of a loss means; "" of one that it does
// not know.
func LossSentence(reason string) string { return lossSentence[reason] }

func (l *Lease) lostError(reason string) *Error {
	return &Error{
		Code: CodeLost, Lock: l.name,
		Detail: fmt.Sprintf("the hold with fence %d is lost (%s: %s); another may have the lock now", l.fence, reason, lossSentence[reason]),
	}
}

func (l *Lease) releasedError() *Error {
	return &Error{Code: CodeNotOwner, Lock: l.name, Detail: fmt.Sprintf("the hold with fence %d has been released", l.fence)}
}
