package history

import (
	"time"

	"github.com/lockgw/lockgw/session"
)

// Outcome is how an attempt to get a lock has ended, or that it has not.
type Outcome string

// The outcomes.
const (
	Waiting  Outcome = "waiting"
	Holding  Outcome = "holding"
	Released Outcome = "released" // Reason: why, if its client did not ask for it
	Lost     Outcome = "lost"     // Reason: as in the event
	Broken   Outcome = "broken"   // by an administrator
	Refused  Outcome = "refused"  // Reason: the code of the error
	GaveUp   Outcome = "gave_up"  // its client has hung up
	Unknown  Outcome = "unknown"  // the gateway ended before
)

// Attempt is one caller's way to a lock and through it: it asks, waits, holds. A time
// that is zero has not come, or is not known.
type Attempt struct {
	Lock    string
	Who     session.Holder
	Mode    string
	Asked   time.Time
	Granted time.Time
	Ended   time.Time
	Outcome Outcome
	Reason  string
	Fence   uint64
	Ahead   int // callers that stood before it when it began to wait
	// Behind is who held the lock when it began to wait.
	Behind *session.Holder
}

// Waited is for how long, until now if it still does; 0 if that is not known.
func (a *Attempt) Waited(now time.Time) time.Duration {
	until := a.Granted
	if until.IsZero() {
		until = a.end(now)
	}
	if a.Asked.IsZero() || until.IsZero() {
		return 0
	}
	return max(0, until.Sub(a.Asked))
}

// Held is for how long, until now if it still does; 0 if it never did, or that is not
// known.
func (a *Attempt) Held(now time.Time) time.Duration {
	until := a.end(now)
	if a.Granted.IsZero() || until.IsZero() {
		return 0
	}
	return max(0, until.Sub(a.Granted))
}

// end is zero if that is not known.
func (a *Attempt) end(now time.Time) time.Time {
	if a.Ended.IsZero() && (a.Outcome == Waiting || a.Outcome == Holding) {
		return now
	}
	return a.Ended
}

// began is the first that is known of it.
func (a *Attempt) began() time.Time {
	switch {
	case !a.Asked.IsZero():
		return a.Asked
	case !a.Granted.IsZero():
		return a.Granted
	default:
		return a.Ended
	}
}

// last is the latest that is known of it.
func (a *Attempt) last() time.Time {
	switch {
	case !a.Ended.IsZero():
		return a.Ended
	case !a.Granted.IsZero():
		return a.Granted
	default:
		return a.Asked
	}
}

// eventful attempts are those that somebody may look for: who waited, worked for a
// while, or did not end well.
func (a *Attempt) eventful() bool {
	return a.Outcome != Released || a.Waited(a.Ended) >= 100*time.Millisecond || a.Held(a.Ended) >= time.Second
}

// add is what s says of the attempt.
func (a *Attempt) add(s *session.Step) {
	switch s.Kind {
	case session.StepWaits:
		a.Outcome, a.Behind, a.Ahead = Waiting, s.Behind, s.Ahead
	case session.StepGranted, session.StepResumed:
		a.Outcome, a.Granted, a.Fence = Holding, s.Who.Since, uint64(s.Fence)
		if a.Behind == nil {
			a.Ahead = s.Ahead
		}
	case session.StepReleased, session.StepLost:
		a.Outcome, a.Granted, a.Fence, a.Ended, a.Reason = Released, s.Who.Since, uint64(s.Fence), s.Time, s.Reason
		switch {
		case s.Kind == session.StepReleased:
		case s.Reason == session.LossBroken:
			a.Outcome, a.Reason = Broken, ""
		default:
			a.Outcome = Lost
		}
	case session.StepRefused:
		a.Outcome, a.Ended, a.Reason = Refused, s.Time, s.Reason
		if s.Reason == session.ReasonHungUp {
			a.Outcome, a.Reason = GaveUp, ""
		}
		if a.Behind == nil {
			a.Behind = s.Behind
		}
	case session.StepSeen: // of a lock
	}
	if s.Kind != session.StepRefused || a.Who.Owner == "" {
		a.Who = s.Who
	}
	a.Lock, a.Mode = s.Lock, s.Mode.String()
	if a.Asked.IsZero() {
		a.Asked = s.Asked
	}
}
