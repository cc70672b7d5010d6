package session

import (
	"context"
	"errors"

	"github.com/lockgw/lockgw/session/answers"
	"github.com/lockgw/lockgw/session/journal"
)

// replays remembers the answers to requests that carried a key, so that a repeat
// after a lost answer has the effect of one. An answer that changed nothing is not
// remembered: a repeat that is done anew has the effect of one, too. See package answers for
// how long and how many.
type replays map[string]*replay

type replay struct {
	answers.Answer
	s    *Session
	key  string
	what string // the request, to tell a repeat from another use of the key
	done chan struct{}
	v    any
	err  error
	told bool // the answer is one for those who wait for it, too
}

// replayLocked makes the place for the answer to a request with key.
func (s *Session) replayLocked(key, what string, names int) *replay {
	r := &replay{s: s, key: key, what: what, done: make(chan struct{})}
	r.User, r.Names, r.Data = s.o.User, names, r
	if s.replays == nil {
		s.replays = replays{}
	}
	s.replays[key] = r
	return r
}

// receipt is a request with a key. What it does is written into the journal together
// with its answer, so that a repeat after a restart gets that, too. nil: no key.
type receipt struct {
	key, what string
	names     int  // it is for so many that the journal has no answer for yet
	changed   bool // something, though the answer is an error
	undoes    bool // what was done before by the request, whose answer is taken back
}

var errOtherRequest = &Error{Code: CodeConflict, Detail: "this request id was used for a different request"}

// once runs f, unless a request with this key was run: then it returns that
// one's answer, when it is there, and says so (repeat). CodeConflict when the key was
// used for something else.
func (s *Session) once(ctx context.Context, of *receipt, takes bool, f func(*receipt) (any, error)) (v any, repeat bool, err error) {
	for {
		r, mine, err := s.recall(of)
		if err != nil {
			return nil, true, err
		}
		if mine {
			s.run(of, r, func(of *receipt) (any, error) {
				if takes { // what gives something back must not fail for this
					if err := s.m.answers.Room(s.o.User, of.names); err != nil {
						return nil, &Error{Code: CodeTooManyHolds, RetryAfter: journal.AtLeast, Detail: err.Error()}
					}
				}
				return f(of)
			})
			return r.v, false, r.err
		}
		select {
		case <-r.done:
			if r.told {
				return r.v, true, r.err
			}
		case <-ctx.Done():
			return nil, true, ctx.Err()
		}
	}
}

// run answers r by f. A panic of f goes on, but r is answered first: what f has done
// is not known then, so that a repeat must not do it again, and must not wait either.
func (s *Session) run(of *receipt, r *replay, f func(*receipt) (any, error)) {
	r.err = &Error{
		Code: CodeInternal, Detail: "the gateway failed in the first request with this id, and what that has done is not known; " +
			"see what the session holds, release what it should not, and ask again with another id",
	}
	panics := true
	defer func() { s.remember(of, r, panics) }()
	r.v, r.err = f(of)
	panics = false
}

// recall finds the request with this key, or makes it, to be run by the caller.
func (s *Session) recall(of *receipt) (r *replay, mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.replays[of.key]; r != nil {
		if r.what != of.what {
			return nil, false, errOtherRequest
		}
		return r, false, nil
	}
	return s.replayLocked(of.key, of.what, of.names), true, nil
}

// remember has the answer r given, and given again if it has to be. unknown: what was
// done is not.
func (s *Session) remember(of *receipt, r *replay, unknown bool) {
	s.mu.Lock()
	r.At = s.m.cfg.Clock()
	r.told = final(r.err)
	keep := r.told && (r.err == nil || of.changed || unknown) // for those who ask later
	if !keep {
		delete(s.replays, of.key)
	} else if r.err != nil {
		s.m.cfg.Journal.Answered(s.id, of.refused(r.err, r.At))
	}
	close(r.done)
	s.mu.Unlock()
	if keep {
		s.m.answers.Add(&r.Answer)
	}
}

// forget takes old answers out of their sessions.
func forget(old []*answers.Answer) {
	for _, a := range old {
		r := a.Data.(*replay)
		r.s.mu.Lock()
		if r.s.replays[r.key] == r {
			delete(r.s.replays, r.key)
		}
		r.s.mu.Unlock()
	}
}

func final(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	switch CodeOf(err) {
	case CodeUnavailable, CodeOutcomeUnknown, CodeDraining:
		return false
	}
	return true
}
