package session

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// Historian is told what happens to callers, so that it can be looked up later. It
// decides nothing. Record must not block and must not call a Manager, a Session or a
// Lease: a lock's mutex may be held.
type Historian interface {
	Record(s Step)
}

// StepKind is what has happened.
type StepKind int

// The steps of one caller: it is refused at once, or it waits and is refused or
// granted, or it is granted at once; what was granted is released or lost.
const (
	StepWaits    StepKind = iota + 1
	StepGranted           // the caller is told so
	StepResumed           // a hold goes on, of the process before this one or as that of another client process
	StepReleased          // Reason: why, if its client did not ask for it; and by what it was in jeopardy, if it was
	StepLost              // Reason: as in the event
	StepRefused           // Reason: the code of the error, or ReasonHungUp
	StepSeen              // not of a caller: those who wait here were told who holds the lock
)

// ReasonHungUp is why a caller was refused that did not wait for the answer.
const ReasonHungUp = "hung_up"

// Step is one thing that happened to a caller.
type Step struct {
	Kind  StepKind
	Time  time.Time // of StepLost: when the hold was over, which may be told later
	Lock  string
	Who   Holder    // the caller; of StepSeen: who holds the lock
	Asked time.Time // zero: the process before this one knew
	Mode  backend.Mode
	Fence backend.Fence // of a hold
	// Reason: see the kinds.
	Reason string
	// Behind is who held the lock when the caller began to wait, or why it was refused;
	// nil: nobody, or that is not known.
	Behind *Holder
	Ahead  int // callers of this node that stood before this one when it began to wait
}

// record tells the historian of one step of l, with what is the same for all.
func (l *Lease) record(s Step) {
	h := l.m.cfg.History
	if h == nil {
		return
	}
	if s.Time.IsZero() {
		s.Time = time.Now()
	}
	s.Lock, s.Who, s.Asked, s.Mode, s.Fence = l.name, l.holderNow(), l.asked, l.c.Mode, l.c.Fence
	h.Record(s)
}

// recordWait: l has to wait.
func (l *Lease) recordWait() {
	if l.m.cfg.History == nil {
		return
	}
	l.n.See(func(c *contender.Contender, now time.Duration) {
		if l.c.Waits() {
			l.record(Step{Kind: StepWaits, Behind: l.m.holderOf(c, now), Ahead: l.position(c) - 1})
		}
	})
}

// recordEnd: the hold of l is over.
func (l *Lease) recordEnd(e EventType, reason string) {
	if e == EventLost {
		l.record(Step{Kind: StepLost, Time: l.lostAt(), Reason: reason})
		return
	}
	l.mu.Lock()
	end := l.ending
	l.mu.Unlock()
	if end != nil && end.jeopardy != "" {
		reason = strings.TrimPrefix(reason+"; in jeopardy: "+end.jeopardy, "; ")
	}
	l.record(Step{Kind: StepReleased, Reason: reason})
}

// recordSeen: the store has told who holds the name that callers wait for here. l is the
// first of them.
func (l *Lease) recordSeen(h *ledger.Hold) {
	holder := holderIn(h)
	l.mu.Lock()
	known := l.behind == holder.Owner
	l.behind = holder.Owner
	l.mu.Unlock()
	if !known {
		l.m.cfg.History.Record(Step{Kind: StepSeen, Time: time.Now(), Lock: l.name, Who: *holder, Mode: h.Mode})
	}
}

// recordRefusal: an acquire that began at asked did not come to a hold.
func (s *Session) recordRefusal(name string, a *Acquire, asked time.Time, err error) {
	h := s.m.cfg.History
	if h == nil {
		return
	}
	step := Step{
		Kind: StepRefused, Time: time.Now(), Lock: name, Who: s.holder(a.Thread, a.Note), Asked: asked, Mode: a.mode(), Reason: string(CodeOf(err)),
	}
	var e *Error
	switch {
	case errors.As(err, &e):
		step.Behind = e.Holder
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		step.Reason = ReasonHungUp
	}
	h.Record(step)
}
