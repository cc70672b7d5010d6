package session

import (
	"fmt"

	"github.com/lockgw/lockgw/backend"
)

// cycle refuses a wait that would never end: of an owner for a name whose holder
// waits, directly or through others, for a name that this owner holds. CodeConflict.
//
// It sees the owners of this node. What another node holds ends the search, so a
// cycle through two nodes lasts until one of the waits is over. An owner that waits
// for several names at once is taken to need all of them. A semaphore keeps nobody
// waiting for one holder alone, so it is left out.
//
// The caller is in s.waiting already: of two who close a cycle at the same time, one
// at least sees the other.
func (s *Session) cycle(name string, thread int64) error {
	if !s.holdsSomething(thread) {
		return nil // as most who wait
	}
	var holder *Holder // of name
	seen := map[string]bool{}
	for todo := []string{name}; len(todo) > 0; todo = todo[1:] {
		next := todo[0]
		if seen[next] {
			continue
		}
		seen[next] = true
		for _, l := range s.m.heldHere(next) {
			if holder == nil {
				holder = &l.holder
			}
			if l.s == s && l.thread == thread {
				return &Error{Code: CodeConflict, Lock: name, Holder: holder, Detail: fmt.Sprintf(
					"the wait would never end: its holder waits, directly or through others, for %q, which this session holds; "+
						"release that first, or ask for all names in one request", next)}
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

// waitsOf are the names that the owner with that thread waits for. One that only
// tries is about to be answered.
func (s *Session) waitsOf(thread int64) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for k, p := range s.waiting {
		if k.thread == thread && !p.tries {
			names = append(names, k.name)
		}
	}
	return names
}

// holdingOf is a hold as another session sees it.
type holdingOf struct {
	s      *Session
	thread int64
	holder Holder
}

// heldHere are the holds of name by sessions of this node.
func (m *Manager) heldHere(name string) []holdingOf {
	var out []holdingOf
	for _, p := range m.placesOf(name) {
		p.mu.Lock()
		if l := p.cur; l != nil && l.phase == granted && l.mode <= backend.Exclusive {
			out = append(out, holdingOf{l.s, l.thread, l.holder})
		}
		p.mu.Unlock()
	}
	return out
}
