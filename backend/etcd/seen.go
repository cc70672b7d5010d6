package etcd

import (
	"sync"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// seen are rows as they were told here last, so that a write need not read what it takes the
// place of. What is forgotten is read again.
type seen struct {
	mu    sync.Mutex // guards the fields below
	young map[string]sighting
	old   map[string]sighting // seen before those
	size  int                 // of young, in bytes, about
}

// sighting of a row, by the version that it has.
type sighting struct {
	version ledger.Version
	at      at
	ends    quorum.Ends
}

// mostSeen bounds young, and so old, in bytes.
const mostSeen = 8 << 20

func (s *seen) saw(name string, is *row) {
	if is.rev == 0 {
		return
	}
	const around = 200 // of each in a map
	x := sighting{is.version(), is.at(), is.Ends}
	s.mu.Lock()
	defer s.mu.Unlock()
	if was, ok := s.young[name]; ok {
		s.size -= around + len(name) + len(was.version) + len(was.at.text)
	}
	if s.size > mostSeen || s.young == nil {
		s.young, s.old, s.size = map[string]sighting{}, s.young, 0
	}
	s.young[name] = x
	s.size += around + len(name) + len(x.version) + len(x.at.text)
}

// find is the row of that version, if it is remembered.
func (s *seen) find(name string, v ledger.Version) (sighting, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, ok := s.young[name]
	if !ok {
		x, ok = s.old[name]
	}
	if !ok || x.version != v {
		return sighting{}, false
	}
	return x, true
}
