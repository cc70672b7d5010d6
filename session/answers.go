package session

import (
	"container/list"
	"fmt"
	"sync"
	"time"

	"github.com/lockgw/lockgw/session/journal"
)

// answers bounds what is remembered of requests with a key, for each user and in all: a
// client that puts an id on everything must not fill the memory of all others' gateway.
type answers struct {
	m  *Manager
	mu sync.Mutex             // guards the fields below; nothing is locked under it
	of map[string]*remembered // by user
	n  int                    // names in all of them
	// sweeper runs while there is something to forget.
	sweeper *time.Timer
	stopped bool
}

// remembered are the answers of one user, of *replay, the oldest first.
type remembered struct {
	list.List
	names int // they are for so many: the journal has an answer for each
}

const (
	rememberAnswers = journal.Remember
	atLeast         = journal.AtLeast
	sweepEvery      = 15 * time.Second
)

func (a *answers) start(m *Manager) { a.m, a.of = m, map[string]*remembered{} }

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

// room refuses a request for so many names whose answer could only be remembered at the expense
// of one that has to be remembered still.
func (a *answers) room(s *Session, names int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.of[s.o.User]
	most, limit := a.mostLocked()
	if l == nil || names == 0 {
		return nil
	}
	free, now := most-l.names, a.m.cfg.Clock()
	for e := l.Front(); e != nil && now-e.Value.(*replay).at > atLeast; e = e.Next() {
		if free >= min(names, most) {
			break
		}
		free += e.Value.(*replay).names
	}
	if free >= min(names, most) {
		return nil
	}
	return &Error{
		Code: CodeTooManyHolds, RetryAfter: atLeast,
		Detail: fmt.Sprintf("more than %d names in requests with an id within a minute (%s); leave the id out", most, limit),
	}
}

// add remembers r, in place of the user's oldest answers if those are too many.
func (a *answers) add(s *Session, key string, r *replay) {
	a.mu.Lock()
	l := a.of[s.o.User]
	if l == nil {
		l = &remembered{}
		a.of[s.o.User] = l
	}
	r.s, r.key = s, key
	r.place = l.PushBack(r)
	l.names += r.names
	a.n += r.names
	var old []*replay
	for most, _ := a.mostLocked(); l.names > max(most, r.names); {
		old = append(old, a.removeLocked(l, l.Front()))
	}
	if a.sweeper == nil && !a.stopped {
		a.sweeper = time.AfterFunc(sweepEvery, a.sweep)
	}
	a.mu.Unlock()
	forget(old)
}

func (a *answers) removeLocked(l *remembered, e *list.Element) *replay {
	r := l.Remove(e).(*replay)
	r.place = nil
	l.names -= r.names
	if a.n -= r.names; l.Len() == 0 {
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
			if most, _ := a.mostLocked(); age <= atLeast || age <= rememberAnswers && l.names <= most/2 {
				break
			}
			old = append(old, a.removeLocked(l, l.Front()))
		}
	}
	if a.sweeper = nil; len(a.of) > 0 && !a.stopped { // some are for no names
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
