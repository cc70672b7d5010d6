package session

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/session/contender"
	"github.com/lockgw/lockgw/session/engine"
)

// Retire ends the session in a while, unless it holds or waits for something then.
// Until then it answers repeats of what it was asked.
func (s *Session) Retire(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retireLocked(repeatGrace, func() { s.retired(reason) })
}

// retireLocked ends the session by f in a while, and not when it was to end before: it has had its
// lock since, of which it is asked as long as any other.
func (s *Session) retireLocked(d time.Duration, f func()) {
	if s.retire != nil {
		s.retire.Stop()
	}
	s.retire = time.AfterFunc(d, f)
}

// retired ends the session unless it holds something: then over decides again. One
// that waits is looked at later.
func (s *Session) retired(reason string) {
	s.closeIf(func() bool {
		if len(s.waiting) > 0 {
			s.retireLocked(repeatGrace, func() { s.retired(reason) })
		}
		return len(s.holds)+len(s.waiting) == 0
	}, reason)
}

// over is told that l ended. It may be called with the name locked.
func (s *Session) over(l *Lease, e EventType, reason string) {
	k := holdKey{l.name, l.thread}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds[k] == l {
		delete(s.holds, k)
	}
	if e == EventLost {
		s.keepLost(k, l.lostErr())
	}
	if !s.o.OneLock || s.closed || len(s.holds) > 0 || s.gathering > 0 {
		return
	}
	switch {
	case e == EventLost:
		s.retireLocked(lostGrace, func() { s.retired("its lock was lost (" + reason + ")") })
	case len(s.replays) > 0:
		s.spent = true
		s.m.cfg.Journal.Spent(s.id)
		s.retireLocked(repeatGrace, func() { s.closeSoon(releasedReason) })
	default:
		s.spent = true // an acquire that comes before the end must not be granted and closed
		s.m.wg.Go(func() { s.closeSoon(releasedReason) })
	}
}

func (s *Session) keepHold(k holdKey, l *Lease) {
	if s.holds == nil {
		s.holds = map[holdKey]*Lease{}
	}
	s.holds[k] = l
}

func (s *Session) keepLost(k holdKey, err *Error) {
	if len(s.lost) >= s.m.cfg.Limits.HoldsPerSession {
		for old := range s.lost {
			delete(s.lost, old)
			break
		}
	}
	if s.lost == nil {
		s.lost = map[holdKey]*Error{}
	}
	s.lost[k] = err
}

// Ended is what the end of a session has done, or the release of several names.
type Ended struct {
	Released []string // names that the session held, and holds no more
	// Pending: the store has not confirmed each of them yet. They are free after
	// FreeBy at the latest.
	Pending bool
	FreeBy  time.Duration
	freeAt  time.Duration // FreeBy, on the clock; of a release
}

func (e *Ended) add(o Ended) {
	e.Released = append(e.Released, o.Released...)
	e.Pending = e.Pending || o.Pending
	e.FreeBy, e.freeAt = max(e.FreeBy, o.FreeBy), max(e.freeAt, o.freeAt)
}

// End ends the session: its waits end with CodeSessionEnded and its holds are released. It
// waits, until ctx is done and no longer than Config.Timeout, for the store to confirm.
// reason is for people.
func (s *Session) End(ctx context.Context, reason string) Ended {
	e, _ := s.end(ctx, reason, giveBack)
	return e
}

// end is End, and says whether the session has ended by this.
func (s *Session) end(ctx context.Context, reason string, then fate) (e Ended, ended bool) {
	for _, l := range s.Leases() {
		_, left := l.longest()
		e.FreeBy = max(e.FreeBy, left)
	}
	e.Released, e.Pending, ended = s.close(ctx, reason, then, nil)
	return e, ended
}

func (s *Session) closeSoon(reason string) { s.closeIf(nil, reason) }

// closeIf ends the session if still says so, which is asked under the lock under which
// signs of life are accepted: what was accepted before is seen, what comes after is
// refused. nil: in any case. The result is whether it has ended by this.
func (s *Session) closeIf(still func() bool, reason string) bool {
	_, _, closed := s.close(context.Background(), reason, giveBack, still)
	return closed
}

// fate is what becomes of the holds of a session that ends.
type fate int

const (
	giveBack fate = iota // they are released
	revoke               // they are lost: their client may still be there, and is told
	keep                 // they stay in the store until their leases run out
)

// close ends the session. still: see closeIf. released are the names that it holds no more.
// pending: the store has not confirmed all of it until ctx was done.
func (s *Session) close(ctx context.Context, reason string, then fate, still func() bool) (released []string, pending, closed bool) {
	s.mu.Lock()
	if s.closed || still != nil && !still() {
		s.mu.Unlock()
		return nil, false, false
	}
	s.closed = true
	why := endedError(reason)
	if then == keep {
		why = s.m.drainingError("") // the next process has it
	}
	s.cancel(why) // from here on Err tells
	s.pokeAllLocked()
	leases := slices.Collect(maps.Values(s.holds))
	for _, t := range []*time.Timer{s.returns, s.retire, s.silence} {
		if t != nil {
			t.Stop()
		}
	}
	for _, r := range s.replays {
		s.m.answers.Drop(&r.Answer)
	}
	s.mu.Unlock()
	s.m.remove(s, why, then == keep)
	if then == keep {
		return nil, false, true
	}
	released, pending = endAll(ctx, leases, reason, then)
	s.m.publish(Event{Type: EventSessionEnded, Session: s.id, Reason: reason})
	return released, pending, true
}

// endAll ends the leases and waits for the store, see settle, until ctx is done. pending: it has not
// confirmed all of them.
func endAll(ctx context.Context, leases []*Lease, reason string, then fate) (names []string, pending bool) {
	var waits sync.WaitGroup
	var missing atomic.Bool
	for _, l := range leases {
		end := l.end
		if then == revoke {
			end, reason = l.revoke, reasonEnded
		}
		errand, err := end(reason)
		if err == nil {
			names = append(names, l.name)
		}
		if l.n.Given() == nil && !l.n.Owed() {
			errand.Launch()
			continue
		}
		waits.Go(func() {
			if !l.settle(context.Background(), ctx.Done(), errand) {
				missing.Store(true)
			}
		})
	}
	waits.Wait()
	return names, missing.Load()
}

// end gives l back. The errand has to be carried out by the caller, see settle.
func (l *Lease) end(reason string) (*engine.Errand, *Error) {
	return l.endUnless(false, reason, nil)
}

// errMore: nothing was given back, for the lease has more than one entry.
var errMore = &Error{}

// endUnless is end, but errMore where more is set and l has more than one entry: one that has
// come since somebody looked is not given back with the one that there was then.
func (l *Lease) endUnless(more bool, reason string, answer *receipt) (*engine.Errand, *Error) {
	l.mu.Lock()
	no := l.whyOverLocked() // whether n is there or not
	l.mu.Unlock()
	if no != nil {
		return nil, no
	}
	there := false
	errand := l.n.ReleaseIf(&l.c, func(k *contender.Contender) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		there = true
		if no = l.whyOverLocked(); no == nil && more && l.c.Entries > 1 {
			no = errMore
		}
		if no == nil {
			l.ending = &ending{reason: reason, answer: answer, jeopardy: l.jeopardy(k)}
			if l.untold {
				l.c.MinHoldAt = 0
			}
		}
		return no == nil
	})
	switch {
	case !there:
		no = l.whyGone()
	case no == nil:
		no = l.lostErr() // just before that
	}
	if no != nil {
		errand.Launch()
		return nil, no
	}
	return errand, nil
}

// jeopardy is by what l is in jeopardy; "": it is not.
func (l *Lease) jeopardy(k *contender.Contender) string {
	if !k.Failing() {
		return ""
	}
	if why := l.n.Trouble(); why != nil {
		return why.Error()
	}
	return "its last renewal was not confirmed" // the store has answered something else since
}

// whyGone is why nothing can be done about l, whose name the engine has given up: the next process
// has it, or it is over.
func (l *Lease) whyGone() *Error {
	if l.leftBehind() {
		return l.m.drainingError(l.name)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.whyOverLocked()
}

// whyOverLocked is why l cannot be given back; nil: it can.
func (l *Lease) whyOverLocked() *Error {
	switch {
	case l.err != nil:
		return l.err
	case l.over || l.ending != nil:
		return l.releasedError()
	default:
		return nil
	}
}

// leftBehind: the name was abandoned with l in it, be it only kept, and the next process has it.
func (l *Lease) leftBehind() bool {
	return l.n.Gone() && l.c.Holds() // which nobody changes any more
}
