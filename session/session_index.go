package session

import (
	"slices"
	"strings"
	"sync"
)

// sessionIndex has the living sessions by ID. It is not under Manager.mu, so that whoever
// lists them stands in nobody's way.
type sessionIndex struct{ byID sync.Map } // of *Session

func (r *sessionIndex) add(s *Session) { r.byID.Store(s.id, s) }

func (r *sessionIndex) drop(s *Session) { r.byID.Delete(s.id) }

// find is nil for an ID that no session has.
func (r *sessionIndex) find(id string) *Session {
	v, _ := r.byID.Load(id)
	s, _ := v.(*Session)
	return s
}

// after are the n sessions with the least IDs above id that want accepts, in order.
func (r *sessionIndex) after(id string, n int, want func(*Session) bool) []*Session {
	var found []*Session
	bound := "" // the n-th of those that were found already
	sortByID := func() { slices.SortFunc(found, func(a, b *Session) int { return strings.Compare(a.id, b.id) }) }
	for k, v := range r.byID.Range {
		if k := k.(string); k <= id || bound != "" && k > bound {
			continue // without a look at the session, of which there are many
		}
		s := v.(*Session)
		if !want(s) {
			continue
		}
		if found = append(found, s); len(found) == 2*n {
			sortByID()
			found = found[:n]
			bound = found[n-1].id
		}
	}
	sortByID()
	return found[:min(n, len(found))]
}
