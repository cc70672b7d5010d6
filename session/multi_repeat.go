package session

import (
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session/contender"
)

// of is the receipt of what a request with receipt r does to one name. It is in the
// journal beside the hold itself, and is looked at after a restart only: within a
// process the receipt of the whole request will do.
func (r *receipt) of(name string) *receipt {
	if r == nil {
		return nil
	}
	return &receipt{key: r.key + " " + name, what: r.what}
}

// receiptFor is the receipt of a request for names; none: for all that the session holds, of which
// there is one answer. CodeConflict where the process before this one has answered another request
// with the key: of that there is only what it did to each name.
func (s *Session) receiptFor(names []string, key, what string) (*receipt, error) {
	r := &receipt{key: key, what: what}
	if len(names) == 0 {
		r.names = 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		switch p := s.replays[r.of(name).key]; {
		case p == nil:
			r.names++
		case p.what != what:
			return nil, errOtherRequest
		}
	}
	return r, nil
}

// before is what the process before this one has answered to r, nil if nothing.
func (s *Session) before(r *receipt) any {
	if r == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.replays[r.key]; p != nil && p.what == r.what {
		return p.v
	}
	return nil
}

// forget drops what the process before this one has answered to r, which is undone.
func (s *Session) forget(r *receipt) {
	if r == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.replays[r.key]; p != nil && p.what == r.what {
		delete(s.replays, r.key)
		s.m.answers.Drop(&p.Answer)
	}
}

// answeredBefore are the grants that the process before this one has got for the
// request. If they are all there it may have told them, so they are the answer again,
// over or not.
func (s *Session) answeredBefore(names []string, r *receipt) (gs []Grant) {
	for _, name := range names {
		if g, ok := s.before(r.of(name)).(Grant); ok {
			gs = append(gs, g)
		}
	}
	return gs
}

// survive says whether the next process of this node is to go on holding l. If not, a repeat
// there of the request that has got l takes it anew. What another request has entered, or given
// a longer lease, survives.
func (l *Lease) survive(yes bool) {
	_ = l.see(func(c *contender.Contender, _ time.Duration) { // if it is over, the journal says so
		switch {
		case yes:
			l.comeOut(c.Hold(), c.LeaseEnd(&l.c))
		case l.c.Entries == 1:
			l.secret = true
			l.m.cfg.Journal.Released(l.key(), l.s.id, l.repeat.released(l, 0))
		}
	})
}

// comeOut has the journal know of l, if it is secret. It is called with the name locked.
func (l *Lease) comeOut(hold backend.Fence, deadline time.Duration) {
	if l.secret {
		l.secret = false
		l.m.cfg.Journal.Told(l.key(), l.turn(hold, deadline), l.answered())
	}
}
