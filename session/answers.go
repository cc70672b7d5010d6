package session

import (
	"container/list"
	"fmt"
	"sync"
	"time"
)

// answers bounds what is remembered of requests with a key, for each user and in all: a
// client that puts an id on everything must not fill the memory of all others' gateway.
type answers struct {
	m  *Manager
	mu sync.Mutex            // guards the fields below; nothing is locked under it
	of map[string]*list.List // of *replay, by user, the oldest first
	n  int
	// sweeper runs while there is something to forget.
	sweeper *time.Timer
	stopped bool
}

const (
	rememberAnswers = 10 * time.Minute
	atLeast         = time.Minute // even if there are many
	sweepEvery      = 15 * time.Second
)

func (a *answers) start(m *Manager) { a.m, a.of = m, map[string]*list.List{} }

func (a *answers) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped = true; a.sweeper != nil {
		a.sweeper.Stop()
	}
}

// most is how many the user may have: its limit, or if all have too many together, as
// many as each.
func (a *answers) mostLocked() (int, string) {
	l := a.m.cfg.Limits
	if share := l.Answers / max(len(a.of), 1); a.n >= l.Answers && share < l.AnswersPerUser {
		return share, "limits.answers"
	}
	return l.AnswersPerUser, "limits.answers_per_user"
}

// room refuses a request whose answer could only be remembered at the expense of one
// that has to be remembered still.
func (a *answers) room(s *Session) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.of[s.o.User]
	most, limit := a.mostLocked()
	if l == nil || l.Len() < most || a.m.cfg.Clock()-l.Front().Value.(*replay).at > atLeast {
		return nil
	}
	return &Error{
		Code: CodeTooManyHolds, RetryAfter: atLeast,
		Detail: fmt.Sprintf("more than %d requests with an id within a minute (%s); leave the id out", most, limit),
	}
}

// add remembers r, in place of the user's oldest answers if those are too many.
func (a *answers) add(s *Session, key string, r *replay) {
	a.mu.Lock()
	l := a.of[s.o.User]
	if l == nil {
		l = list.New()
		a.of[s.o.User] = l
	}
	r.s, r.key = s, key
	r.place = l.PushBack(r)
	a.n++
	var old []*replay
	for most, _ := a.mostLocked(); l.Len() > max(most, 1); {
		old = append(old, a.removeLocked(l, l.Front()))
	}
	if a.sweeper == nil && !a.stopped {
		a.sweeper = time.AfterFunc(sweepEvery, a.sweep)
	}
	a.mu.Unlock()
	forget(old)
}

func (a *answers) removeLocked(l *list.List, e *list.Element) *replay {
	r := l.Remove(e).(*replay)
	r.place = nil
	if a.n--; l.Len() == 0 {
		delete(a.of, r.s.o.User)
	}
	return r
}

// sweep forgets what is old, also if nobody asks any more.
func (a *answers) sweep() {
	now := a.m.cfg.Clock()
	var old []*replay
	a.mu.Lock()
	for _, l := range a.of {
		for l.Len() > 0 {
			age := now - l.Front().Value.(*replay).at
			if most, _ := a.mostLocked(); age <= atLeast || age <= rememberAnswers && l.Len() <= most/2 {
				break
			}
			old = append(old, a.removeLocked(l, l.Front()))
		}
	}
	if a.sweeper = nil; a.n > 0 && !a.stopped {
		a.sweeper = time.AfterFunc(sweepEvery, a.sweep)
	}
	a.mu.Unlock()
	forget(old)
}

// drop forgets the answers of a session that has ended.
func (a *answers) drop(rs replays) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range rs {
		if r.place != nil {
			a.removeLocked(a.of[r.s.o.User], r.place)
		}
	}
}

func (a *answers) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n
}

// forget takes old out of their sessions.
func forget(old []*replay) {
	for _, r := range old {
		r.s.mu.Lock()
		if r.s.replays[r.key] == r {
			delete(r.s.replays, r.key)
		}
		r.s.mu.Unlock()
	}
}
