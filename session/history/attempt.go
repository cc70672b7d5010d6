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
	Released Outcome = "released" // Reason: as in session.StepReleased
	Lost     Outcome = "lost"     // Reason: as in the event
	Broken   Outcome = "broken"   // by an administrator
	Refused  Outcome = "refused"  // Reason: the code of the error
	GaveUp   Outcome = "gave_up"  // its client has hung up
	Unknown  Outcome = "unknown"  // the gateway ended before the attempt did, or what it knew of the end was dropped
)

// goesOn: it has not ended.
func (o Outcome) goesOn() bool { return o == Waiting || o == Holding }

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

// Waited is how long the caller waited, until now if it still does; 0 if that is not known.
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

// Held is how long the caller held the lock, until now if it still does; 0 if it never
// did, or if that is not known.
func (a *Attempt) Held(now time.Time) time.Duration {
	until := a.end(now)
	if a.Granted.IsZero() || until.IsZero() {
		return 0
	}
	return max(0, until.Sub(a.Granted))
}

// end is when the attempt ended, now if it goes on, zero if that is not known.
func (a *Attempt) end(now time.Time) time.Time {
	if a.Ended.IsZero() && a.Outcome.goesOn() {
		return now
	}
	return a.Ended
}

// began is the first time that is known of the attempt, as it is written: the same while it
// goes on and when it was read.
func (a *Attempt) began() time.Time {
	switch {
	case !a.Asked.IsZero():
		return short(a.Asked)
	case !a.Granted.IsZero():
		return short(a.Granted)
	default:
		return short(a.Ended)
	}
}

// last is the latest time that is known of the attempt.
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

// eventful says that somebody may look for the attempt: the caller waited, held the lock
// for a while, or did not end by a release.
func (a *Attempt) eventful() bool {
	return a.Outcome != Released || a.Waited(a.Ended) >= 100*time.Millisecond || a.Held(a.Ended) >= time.Second
}

// add takes over what step s says of the attempt.
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
	case session.StepSeen: // says something of a lock, not of an attempt
	}
	if s.Kind != session.StepRefused || a.Who.Owner == "" {
		a.Who = s.Who
	}
	a.Lock, a.Mode = s.Lock, s.Mode.String()
	if a.Asked.IsZero() {
		a.Asked = s.Asked
	}
}
