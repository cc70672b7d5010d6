// Package answers bounds what is remembered of requests with a key, for each user and in all: a
// client that puts an id on everything must not fill the memory of all others' gateway. What an
// answer says, and who is given it again, is decided in package session.
package answers

import (
	"container/list"
	"fmt"
	"sync"
	"time"

	"github.com/lockgw/lockgw/session/journal"
)

// Answer is one that is remembered.
type Answer struct {
	User  string
	Names int           // it is for so many: the journal has an answer for each
	At    time.Duration // when it was given
	Data  any           // is for who remembers it

	place *list.Element // guarded by Book.mu; nil: not in there
}

// Limits are how many names there are answers for.
type Limits struct{ PerUser, All int }

// Book has the answers that are remembered. Use New.
type Book struct {
	limits Limits
	clock  func() time.Duration
	forget func(old []*Answer)

	mu sync.Mutex             // guards the fields below; nothing is locked under it
	of map[string]*remembered // by user
	n  int                    // names in all of them
	// sweeper runs while there is something to forget.
	sweeper *time.Timer
	stopped bool
}

// remembered are the answers of one user, of *Answer, the oldest first.
type remembered struct {
	list.List
	names int
}

const sweepEvery = 15 * time.Second

// New makes a Book. forget is told of what is not in there any more, because it is old or there is
// too much.
func New(most Limits, clock func() time.Duration, forget func(old []*Answer)) *Book {
	return &Book{limits: most, clock: clock, forget: forget, of: map[string]*remembered{}}
}

// Stop ends what goes on by itself.
func (b *Book) Stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped = true; b.sweeper != nil {
		b.sweeper.Stop()
	}
}

// mostLocked is how many the user may have: its limit, or if all have too many together, as
// many as each. limit is the name of that.
func (b *Book) mostLocked() (most int, limit string) {
	l := b.limits
	if share := l.All / max(len(b.of), 1); b.n >= l.All && share < l.PerUser {
		return share, "limits.answers"
	}
	return l.PerUser, "limits.answers_per_user"
}

// Room refuses a request of the user for so many names whose answer could only be remembered at
// the expense of one that has to be remembered still, which is for journal.AtLeast.
func (b *Book) Room(user string, names int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.of[user]
	most, limit := b.mostLocked()
	if l == nil || names == 0 {
		return nil
	}
	free, now := most-l.names, b.clock()
	for e := l.Front(); e != nil && now-e.Value.(*Answer).At > journal.AtLeast; e = e.Next() {
		if free >= min(names, most) {
			break
		}
		free += e.Value.(*Answer).Names
	}
	if free >= min(names, most) {
		return nil
	}
	return fmt.Errorf("more than %d names in requests with an id within a minute (%s); leave the id out", most, limit)
}

// Add remembers a, in place of the user's oldest answers if those are too many.
func (b *Book) Add(a *Answer) {
	b.mu.Lock()
	l := b.of[a.User]
	if l == nil {
		l = &remembered{}
		b.of[a.User] = l
	}
	a.place = l.PushBack(a)
	l.names += a.Names
	b.n += a.Names
	var old []*Answer
	for most, _ := b.mostLocked(); l.names > max(most, a.Names); {
		old = append(old, b.removeLocked(l, l.Front()))
	}
	if b.sweeper == nil && !b.stopped {
		b.sweeper = time.AfterFunc(sweepEvery, b.sweep)
	}
	b.mu.Unlock()
	b.forget(old)
}

func (b *Book) removeLocked(l *remembered, e *list.Element) *Answer {
	a := l.Remove(e).(*Answer)
	a.place = nil
	l.names -= a.Names
	if b.n -= a.Names; l.Len() == 0 {
		delete(b.of, a.User)
	}
	return a
}

// sweep forgets what is old, also if nobody asks any more.
func (b *Book) sweep() {
	now := b.clock()
	var old []*Answer
	b.mu.Lock()
	for _, l := range b.of {
		for l.Len() > 0 {
			age := now - l.Front().Value.(*Answer).At
			if most, _ := b.mostLocked(); age <= journal.AtLeast || age <= journal.Remember && l.names <= most/2 {
				break
			}
			old = append(old, b.removeLocked(l, l.Front()))
		}
	}
	if b.sweeper = nil; len(b.of) > 0 && !b.stopped { // some are for no names
		b.sweeper = time.AfterFunc(sweepEvery, b.sweep)
	}
	b.mu.Unlock()
	b.forget(old)
}

// Drop takes a out, if it is in there.
func (b *Book) Drop(a *Answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a.place != nil {
		b.removeLocked(b.of[a.User], a.place)
	}
}

// Count is for how many names there are answers.
func (b *Book) Count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}
