package session

import (
	"fmt"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session/contender"
)

// cycle refuses a wait that would never end: of an owner for a name whose holder
// waits, directly or through others, for a name that this owner holds. CodeConflict.
//
// It sees the owners of this node. What another node holds ends the search, so a
// cycle through two nodes lasts until one of the waits is over. An owner that waits
// for several names at once is taken to need all of them. A semaphore keeps nobody
// waiting for one holder alone, so it is left out; so do those who share a name keep
// out others who would, unless somebody wants it alone and comes first. Should he come
// between this look and the request, the wait lasts until it is over.
//
// The caller is in s.waiting already: of two who close a cycle at the same time, one
// at least sees the other.
func (s *Session) cycle(w want, thread int64) error {
	if !s.holdsSomething(thread) {
		return nil // as most who wait
	}
	var holder *Holder // of what s wants
	seen := map[want]bool{}
	for todo := []want{w}; len(todo) > 0; todo = todo[1:] {
		next := todo[0]
		if seen[next] {
			continue
		}
		seen[next] = true
		for _, l := range s.m.inTheWay(next) {
			if holder == nil {
				holder = l.holderShown()
			}
			if l.s == s && l.thread == thread {
				return &Error{Code: CodeConflict, Lock: w.name, Holder: holder, Detail: fmt.Sprintf(
					"the wait would never end: its holder waits, directly or through others, for %q, which this session holds; "+
						"release that first, or ask for all names in one request", next.name)}
			}
			todo = append(todo, l.s.waitsOf(l.thread)...)
		}
	}
	return nil
}

// holdsSomething: as the owner with that thread.
func (s *Session) holdsSomething(thread int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.holds {
		if k.thread == thread {
			return true
		}
	}
	return false
}

// want is a name and how somebody wants it.
type want struct {
	name string
	mode backend.Mode
}

// waitsOf is what the owner with that thread waits for. One that only tries is about
// to be answered.
func (s *Session) waitsOf(thread int64) []want {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []want
	for _, l := range s.waiting {
		if l.thread == thread && !l.tries {
			out = append(out, want{l.name, l.c.Mode})
		}
	}
	return out
}

// inTheWay are the holds by sessions of this node that have to end before w is granted.
func (m *Manager) inTheWay(w want) (holds []*Lease) {
	wanted := w.mode == backend.Exclusive // alone, by w or by somebody who comes before
	m.engine.Find(w.name).See(func(c *contender.Contender, _ time.Duration) {
		if q := c.Waiting(); len(q) > 0 && q[0].Mode == backend.Exclusive {
			wanted = true
		}
		for _, x := range c.In() {
			if !x.Holds() || x.Kept { // what is kept ends by itself, and its session may be no more
				continue
			}
			if wanted || x.Mode == backend.Exclusive {
				holds = append(holds, leaseOf(x))
			}
		}
	})
	return holds
}
