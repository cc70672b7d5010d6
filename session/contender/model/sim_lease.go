package model

import (
	"time"

	"github.com/lockgw/lockgw/session/contender"
)

// change has x, who holds the name, have something about that changed.
func (s *sim) change(x *simCaller) {
	n := x.n
	if !x.holding || s.find(n, x.c) == nil || !n.up || n.paused > s.now {
		return
	}
	switch s.rnd.IntN(4) {
	case 0:
		s.note("the lease of %s comes under the watchdog", x.c.Owner)
		s.carryOut(n, n.c.Loosen(s.now, x.c))
	case 1:
		s.carryOut(n, n.c.SetEntries(s.now, x.c, 1+s.rnd.IntN(3)))
	case 2:
		s.carryOut(n, n.c.Describe(s.now))
	case 3:
		s.prolong(x)
	}
	if s.chance(2) {
		s.after(s.between(0, 10*time.Millisecond), func() { s.change(x) })
	}
}

// prolong has x ask for a longer lease, or for one that is not longer.
func (s *sim) prolong(x *simCaller) {
	n, c, sentAt := x.n, x.c, s.now
	ttl := []time.Duration{time.Second, 10 * time.Second, time.Minute}[s.rnd.IntN(3)]
	r, ok, e := n.c.Prolong(s.now, c, ttl)
	s.carryOut(n, e)
	if !ok {
		return
	}
	s.note("%s asks for %v more", c.Owner, ttl)
	s.renewal(n, r, func(err error) contender.Effects { return n.c.Prolonged(s.now, c, r, sentAt, err) })
}

// hurry has x not want to wait any more.
func (s *sim) hurry(x *simCaller) {
	n := x.n
	if s.find(n, x.c) != nil && n.up && n.paused <= s.now {
		s.note("%s is in a hurry", x.c.Owner)
		s.carryOut(n, n.c.Hurry(s.now, x.c))
	}
}
