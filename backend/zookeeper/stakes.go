package zookeeper

import (
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/quorum"
)

// stakes are the holds that this process has under its sessions, with when they are over
// unless they are renewed.
//
// The time is noted before a request is sent that has a hold last longer. A hold whose time is
// up is written down as over; while that is under way, one that is renewed all the same is
// written anew, and of the two writes the later one finds another row and fails.
type stakes struct {
	mu sync.Mutex // guards the field below
	of map[string]map[backend.Fence]*stake
}

type stake struct {
	until  time.Duration
	ending bool
}

type stakeKey struct {
	name string
	id   backend.Fence
}

func (s *stakes) find(name string, id backend.Fence) *stake { return s.of[name][id] }

// any: something is held.
func (s *stakes) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.of) > 0
}

// claim: the hold may last until then at least.
func (s *stakes) claim(name string, id backend.Fence, until time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.find(name, id); x != nil {
		x.until = max(x.until, until)
		return
	}
	if s.of == nil {
		s.of = map[string]map[backend.Fence]*stake{}
	}
	if s.of[name] == nil {
		s.of[name] = map[backend.Fence]*stake{}
	}
	s.of[name][id] = &stake{until: until}
}

// prolong is claim of a hold that is known; ok: it is, and is not being given up.
func (s *stakes) prolong(name string, id backend.Fence, until time.Duration) (ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.find(name, id)
	if x == nil {
		return false
	}
	x.until = max(x.until, until)
	return !x.ending
}

// firm: the hold was written anew after it was to be given up.
func (s *stakes) firm(name string, id backend.Fence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.find(name, id); x != nil {
		x.ending = false
	}
}

// wrote: a row with these ends was written.
func (s *stakes) wrote(name string, es quorum.Ends) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.of[name] {
		if e, ok := es.Find(id); !ok || e.Under == "" {
			s.remove(name, id)
		}
	}
}

func (s *stakes) drop(name string, id backend.Fence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(name, id)
}

// remove forgets a hold; s.mu is locked.
func (s *stakes) remove(name string, id backend.Fence) {
	if delete(s.of[name], id); len(s.of[name]) == 0 {
		delete(s.of, name)
	}
}

// due are those whose time is up. From now on they are being given up.
func (s *stakes) due(at time.Duration) (ks []stakeKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, ids := range s.of {
		for id, x := range ids {
			if x.until <= at {
				x.ending = true
				ks = append(ks, stakeKey{name, id})
			}
		}
	}
	return ks
}

// gaveUp forgets a hold that is over in the record, which was begun to be given up at that time. Who has
// renewed it since writes it anew, and goes on with it.
func (s *stakes) gaveUp(k stakeKey, at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.find(k.name, k.id); x != nil && x.until <= at {
		s.remove(k.name, k.id)
	}
}

// over: nobody has renewed the hold meanwhile.
func (s *stakes) over(k stakeKey, at time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.find(k.name, k.id)
	return x != nil && x.until <= at
}

// left is how long a hold lasts; false: it is not known here.
func (s *stakes) left(name string, id backend.Fence) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.find(name, id)
	if x == nil {
		return 0, false
	}
	return max(x.until-now(), 0), true
}
