package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lockgw/lockgw/backend"
)

// Acquire of one name.
type Acquire struct {
	Thread  int64         // completes the owner id; 0 means 1
	Wait    time.Duration // how long to wait for the name; 0: try once
	TTL     time.Duration // lease; 0: the session's, else the configured one
	Fixed   bool          // the lease is not renewed by the watchdog
	MaxHold time.Duration // ends the hold however alive the session is; 0: the session's
	MinHold time.Duration // the name is kept for so long even if released before
	Note    string        // for people
	Shared  bool          // others may hold the name too, if they share it
	Limit   int           // of a semaphore, which so many may hold; 0: a lock
	// Key makes a repeat of the same acquire return the first answer.
	Key string
	// OnQueued, if set, is called once when the caller has to wait, on any goroutine, which it
	// must not block.
	OnQueued func(position int, holder *Holder)

	untold bool // see Lease.untold
}

// Grant is the answer to an Acquire.
type Grant struct {
	Lease *Lease
	New   bool // false: the session held the name already, and has entered again
}

func (a *Acquire) mode() backend.Mode {
	if a.Shared {
		return backend.Shared
	}
	return backend.Mode(a.Limit)
}

// inMode tells a request that is repeated from one for another mode.
func (a *Acquire) inMode() string {
	if m := a.mode(); m != backend.Exclusive {
		return fmt.Sprintf(" %d", m)
	}
	return ""
}

// MaxLimit is the size of the largest semaphore.
const MaxLimit = 100_000

// MaxNote is the longest note, in bytes.
const MaxNote = 256

// Acquire waits for name until it is granted, a.Wait is over, ctx is done or the
// session ends. A caller that holds the name already enters again at once and
// keeps its fence; each entry has to be released. What a re-entry asks of the
// lease can only make it longer. An exclusive hold may be entered as a shared one.
//
// A name is of one kind as long as somebody holds it or waits for it: a lock, whose
// holds are exclusive or shared, or a semaphore of one size. Whoever comes first is
// served first, so that nobody who shares a name overtakes one who wants it alone.
//
// Whoever tells the grant to somebody must do so by Lease.View, whose error
// means that it must not be told any more.
//
// CodeInvalid; CodeLocked and CodeWaitTimeout, with the holder; CodeSessionEnded,
// CodeDraining, CodeConflict, CodeTooManyWaiters, CodeTooManyHolds,
// CodeUnsupported; CodeUnavailable and CodeOutcomeUnknown, after which nothing is
// held; ctx's error, after which nothing is held either.
func (s *Session) Acquire(ctx context.Context, name string, a Acquire) (Grant, error) {
	g, w, err := s.BeginAcquire(ctx, name, a)
	if w != nil {
		return w.wait()
	}
	return g, err
}

// BeginAcquire is Acquire for a caller who keeps no goroutine for the wait. What is decided
// without standing in the queue of name is the result, and so is an error. Else the Waiter
// is not nil: the caller has to call its Then, and is told by that, and its Look when ctx is done.
//
// It may block where the store has to be asked, while another acquire of the same session
// and thread is under way, for a.Wait at most, and, with a.Key, for all of the wait.
func (s *Session) BeginAcquire(ctx context.Context, name string, a Acquire) (Grant, *Waiter, error) {
	if err := s.check(name, &a); err != nil {
		return Grant{}, nil, err
	}
	if a.Key == "" {
		return s.start(ctx, name, a, nil)
	}
	g, err := s.acquireOnce(ctx, name, a)
	return g, nil, err
}

// acquireOnce is acquire of a request with a Key.
func (s *Session) acquireOnce(ctx context.Context, name string, a Acquire) (Grant, error) {
	what := fmt.Sprintf("acquire %s %d %v %v %v %v %v", name, a.Thread, a.Wait, a.TTL, a.Fixed, a.MaxHold, a.MinHold) + a.inMode()
	v, _, err := s.once(ctx, &receipt{key: a.Key, what: what, names: 1}, true, func(r *receipt) (any, error) { return s.acquire(ctx, name, a, r) })
	g, _ := v.(Grant)
	return g, err
}

// check refuses bad arguments and fills in defaults.
func (s *Session) check(name string, a *Acquire) error {
	if err := CheckName(name); err != nil {
		return err
	}
	or(&a.Thread, 1)
	or(&a.TTL, s.o.TTL)
	or(&a.TTL, s.m.cfg.TTL)
	or(&a.MaxHold, s.o.MaxHold)
	l := s.m.cfg.Limits
	switch {
	case a.Thread < 0:
		return Invalid("thread", "must not be negative")
	case a.TTL < l.MinTTL || a.TTL > l.MaxTTL:
		return Invalid("ttl", "must be between %v and %v (limits.min_ttl, limits.max_ttl)", l.MinTTL, l.MaxTTL)
	case a.Wait < 0 || a.Wait > l.MaxWait:
		return Invalid("wait", "must be between 0 and %v (lock.max_wait)", l.MaxWait)
	case a.MaxHold > longest:
		return Invalid("max_hold", "must not be above %v", longest)
	case a.MaxHold < 0 || s.o.MaxHold > 0 && a.MaxHold > s.o.MaxHold:
		return Invalid("max_hold", "must be above 0 and not above the session's (%v)", s.o.MaxHold)
	case a.MinHold < 0 || a.MinHold > l.MaxTTL:
		return Invalid("min_hold", "must be between 0 and %v (limits.max_ttl)", l.MaxTTL)
	case a.MaxHold > 0 && a.MinHold > a.MaxHold:
		return Invalid("min_hold", "must not be above max_hold")
	case len(a.Note) > MaxNote:
		return Invalid("note", "is %d bytes long, the limit is %d", len(a.Note), MaxNote)
	case !utf8.ValidString(a.Note) || strings.ContainsFunc(a.Note, unicode.IsControl):
		return Invalid("note", "must be UTF-8 without control characters")
	case a.Limit < 0 || a.Limit > MaxLimit:
		return Invalid("limit", "must be between 1 and %d", MaxLimit)
	case a.Shared && a.Limit != 0:
		return Invalid("limit", "does not go with a shared hold, which has no limit")
	case a.mode() != backend.Exclusive && !s.m.Info().Modes:
		return &Error{Code: CodeUnsupported, Lock: name, Detail: "this store has neither shared locks nor semaphores"}
	}
	return nil
}

// contend acquires name, or the Waiter is not nil. began is when the caller asked.
func (s *Session) contend(ctx context.Context, name string, a Acquire, r *receipt, began time.Time) (Grant, *Waiter, error) {
	k := holdKey{name, a.Thread}
	for {
		held, other, mine, err := s.begin(k, a)
		switch {
		case err != nil:
			return Grant{}, nil, err
		case held != nil:
			if err := s.enterAgain(ctx, held, a, r); !errors.Is(err, errOver) {
				return Grant{Lease: held}, nil, err
			}
		case other != nil:
			if err := s.follow(ctx, other, &a); err != nil {
				return Grant{}, nil, err
			}
		default:
			waits, err := s.await(ctx, mine, &a, r)
			if err != nil {
				return Grant{}, nil, err
			}
			if waits {
				return Grant{}, s.newWaiter(ctx, mine, &a, began), nil
			}
			return Grant{Lease: mine, New: true}, nil, nil
		}
	}
}

// begin says how k can be had: it is held already, another acquire of the same owner is
// under way (other), or by waiting (mine).
func (s *Session) begin(k holdKey, a Acquire) (held, other, mine *Lease, err error) {
	lim := s.m.cfg.Limits
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, nil, nil, s.gone(k.name)
	case s.spent:
		return nil, nil, nil, endedError(releasedReason)
	case s.holds[k] != nil:
		l := s.holds[k]
		return l, nil, nil, l.admits(a.mode())
	case s.waitingLocked(k) != nil:
		other := s.waitingLocked(k)
		if other.decided == nil {
			other.decided = make(chan struct{})
		}
		return nil, other, nil, nil
	case len(s.waiting) >= lim.WaitsPerSession:
		return nil, nil, nil, &Error{
			Code: CodeTooManyWaiters, Lock: k.name, RetryAfter: time.Second,
			Detail: "the limit of waits of one session (limits.waits_per_session) is reached",
		}
	case len(s.holds)+len(s.waiting) >= lim.HoldsPerSession:
		return nil, nil, nil, &Error{
			Code: CodeTooManyHolds, Lock: k.name, RetryAfter: time.Second,
			Detail: "the limit of holds of one session (limits.holds_per_session) is reached",
		}
	case !s.o.Administers && s.m.holding.by(s.o.User) >= lim.HoldsPerUser:
		return nil, nil, nil, tooManyHeld(k.name, s.o.User)
	}
	mine = newLease(s, s.m, k.name, k.thread)
	mine.c.Mode, mine.tries, mine.asked, mine.untold = a.mode(), a.Wait == 0, time.Now(), a.untold
	s.waiting = append(s.waiting, mine)
	return nil, nil, mine, nil
}

// waitingLocked is the acquire under way for k; nil: there is none.
func (s *Session) waitingLocked(k holdKey) *Lease {
	for _, l := range s.waiting {
		if (holdKey{l.name, l.thread}) == k {
			return l
		}
	}
	return nil
}

// holder is who a hold of the session by that thread belongs to.
func (s *Session) holder(thread int64, note string) Holder {
	h := Holder{Owner: s.owner(thread), Node: s.m.cfg.Node, Session: s.o.Name, Note: note}
	h.belongTo(s)
	return h
}

func (s *Session) owner(thread int64) backend.Owner {
	return backend.Owner(s.uuid + ":" + strconv.FormatInt(thread, 10))
}

// await asks for the name of l, which begin has made. waits: that is not decided yet.
func (s *Session) await(ctx context.Context, l *Lease, a *Acquire, r *receipt) (waits bool, err error) {
	err = errPanic
	defer func() {
		if errors.Is(err, errPanic) { // nobody is there to be told, and nobody must wait behind this one
			l.leave()
		}
		if !waits {
			err = s.finish(l, err)
		}
	}()
	waits, err = s.stand(ctx, l, a, r)
	return waits, err
}

// errPanic is the error of an acquire that panics: others of the same owner must not wait for it.
var errPanic = errors.New("panic")

// finish ends an acquire that has waited; l is held from here on if err is nil.
func (s *Session) finish(l *Lease, err error) error {
	s.mu.Lock()
	s.waiting = slices.DeleteFunc(s.waiting, func(x *Lease) bool { return x == l })
	if l.decided != nil {
		close(l.decided)
	}
	s.touchLocked()
	closed := s.closed || s.spent
	if err == nil && !closed {
		k := holdKey{l.name, l.thread}
		delete(s.lost, k)
		select {
		case <-l.done: // lost before it was told
			s.keepLost(k, l.lostErr())
		default:
			s.keepHold(k, l)
		}
	}
	s.mu.Unlock()
	if err == nil && closed {
		l.setUntold(true)
		errand, left := l.end("its session has ended") // if it is lost meanwhile, so much the better
		errand.Launch()
		behind := left != nil && left.Code == CodeDraining
		switch {
		case l.repeat == nil && behind:
			l.takeBack(nil)
		case l.repeat != nil && !behind:
			// Nobody was told, and a repeat asks anew. What is left to the next process is held
			// there, which has to answer the repeat as one: else that would be a second entry.
			s.m.cfg.Journal.Unanswered(s.id, l.repeat.key)
		}
		if err := s.gone(l.name); err != nil {
			return err
		}
		return endedError(releasedReason) // and is about to be closed
	}
	return err
}
