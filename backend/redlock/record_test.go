package redlock_test

import (
	"sync"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// record watches one name: who was told that it holds it. A hold counts until its
// release is asked for, or its own gateway says that it is over.
type record struct {
	t     *testing.T
	limit int // of a semaphore, 0: a lock

	mu     sync.Mutex
	inside map[*session.Lease]bool // shared
	last   backend.Fence           // newest told
	alone  backend.Fence           // newest told of those that are alone
	grants int
	lost   int
	most   int
}

// newest is a fence that every grant asked for from now on has to be above.
func (r *record) newest() backend.Fence {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

func standing(l *session.Lease) bool {
	_, err := l.View()
	return err == nil
}

// enter is called by a caller that was just told of l.
func (r *record) enter(l *session.Lease, newest backend.Fence, shared bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	beside := []*session.Lease{}
	for other, s := range r.inside {
		if standing(other) && !(s && shared) {
			beside = append(beside, other)
		}
	}
	if r.inside == nil {
		r.inside = map[*session.Lease]bool{}
	}
	if !standing(l) { // now: so all of them have stood at once, if this one does
		return
	}
	r.grants++
	r.most = max(r.most, len(beside)+1)
	if len(beside) >= max(r.limit, 1) {
		r.t.Errorf("fence %d (shared %v) is held beside %d, first fence %d (shared %v)", l.Fence(), shared, len(beside), beside[0].Fence(), r.inside[beside[0]])
	}
	if !shared && r.limit == 0 {
		newest = r.last // nobody was let in between
	}
	if newest = max(newest, r.alone); l.Fence() <= newest {
		r.t.Errorf("fence %d after %d", l.Fence(), newest)
	}
	if r.last = max(r.last, l.Fence()); !shared && r.limit == 0 {
		r.alone = max(r.alone, l.Fence())
	}
	r.inside[l] = shared
}

// leave is called before a release is asked for.
func (r *record) leave(l *session.Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !standing(l) {
		r.lost++
	}
	delete(r.inside, l)
}
