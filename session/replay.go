package session

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// replays remembers the answers to requests that carried a key, so that a repeat
// after a lost answer has the effect of one. An answer that says "try again" is
// not remembered.
type replays map[string]*replay

type replay struct {
	what string // the request, to tell a repeat from another use of the key
	done chan struct{}
	at   time.Duration // of the answer
	v    any
	err  error
	keep bool
}

const (
	rememberAnswers = 10 * time.Minute
	atLeast         = time.Minute // even if there are many
	maxAnswers      = 1 << 14     // of one session
)

// receipt is a request with a key. What it does is written into the journal together
// with its answer, so that a repeat after a restart gets that, too. nil: no key.
type receipt struct{ key, what string }

// once runs f, unless a request with this key was run: then it returns that
// one's answer, when it is there. CodeConflict when the key was used for
// something else.
func (s *Session) once(ctx context.Context, of *receipt, f func(*receipt) (any, error)) (any, error) {
	for {
		r, mine, err := s.recall(of.key, of.what)
		if err != nil {
			return nil, err
		}
		if mine {
			s.run(of, r, f)
			return r.v, r.err
		}
		select {
		case <-r.done:
			if r.keep {
				return r.v, r.err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
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
	defer s.remember(of, r)
	r.v, r.err = f(of)
}

// recall finds the request with this key, or makes it, to be run by the caller.
func (s *Session) recall(key, what string) (r *replay, mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.replays == nil {
		s.replays = replays{}
	}
	if r := s.replays[key]; r != nil {
		if r.what != what {
			return nil, false, &Error{Code: CodeConflict, Detail: "this request id was used for a different request"}
		}
		return r, false, nil
	}
	s.replays.sweep(s.m.cfg.Clock())
	if len(s.replays) >= maxAnswers {
		return nil, false, &Error{
			Code: CodeTooManyHolds, RetryAfter: atLeast,
			Detail: fmt.Sprintf("more than %d requests with an id within a minute; leave the id out, or use several sessions", maxAnswers),
		}
	}
	r = &replay{what: what, done: make(chan struct{})}
	s.replays[key] = r
	return r, true, nil
}

func (s *Session) remember(of *receipt, r *replay) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.at = s.m.cfg.Clock()
	if r.keep = final(r.err); !r.keep {
		delete(s.replays, of.key)
	} else if r.err != nil {
		s.m.cfg.Journal.Answered(s.id, of.refused(r.err))
	}
	close(r.done)
}

func (rs replays) sweep(now time.Duration) {
	old := rememberAnswers
	switch n := len(rs); {
	case n >= maxAnswers:
		old = atLeast
	case n < 64 || n&(n-1) != 0: // now and then will do
		return
	}
	for k, r := range rs {
		if r.at != 0 && now-r.at > old {
			delete(rs, k)
		}
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
