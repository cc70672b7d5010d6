package model

import (
	"math/rand/v2"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// order: nothing goes wrong, and nobody is let in before one who came earlier.
type order struct{ on bool }

// denser is the part of d in which as much happens as else in d.
func (o order) denser(d time.Duration) time.Duration {
	if o.on {
		return d / 20
	}
	return d
}

// latest is the longest that an answer of the store is under way. Callers who came less far apart
// may change places: their nodes know the clock of the store no better.
const latest = 2 * time.Millisecond

// SimulateOrder is Simulate where the order is strict and there are no faults: nobody is let in
// before one who came to the same node earlier, or to another one that has written since.
func SimulateOrder(seed uint64, d time.Duration) SimResult {
	s := newSim(seed, d)
	s.order.on = true
	s.cfg.Strict, s.cfg.Turns, s.cfg.Retain, s.cfg.Delay = true, 1, 0, 0
	rnd := rand.New(rand.NewPCG(seed, 4))
	s.mode = []backend.Mode{backend.Exclusive, 2, 3, 5}[rnd.IntN(4)]
	return s.run()
}

// knows: the store has carried out what n sent at that time.
func (s *sim) knows(n *simNode, sent time.Duration) {
	n.wrote = s.now
	for _, x := range n.callers {
		if x.known == 0 && x.asked <= sent {
			x.known = s.now
		}
	}
}

// checkOrder looks for callers who wait, and came before one whom n has let in just now.
func (s *sim) checkOrder(n *simNode) {
	for _, x := range n.callers {
		if in := !x.c.Waits(); in != x.in {
			if x.in = in; in {
				s.overtakes(n, x)
			}
		}
	}
}

func (s *sim) overtakes(n *simNode, late *simCaller) {
	for _, o := range s.nodes {
		served := s.served(o)
		for _, x := range o.callers {
			switch {
			case !x.c.Waits() || x.c.NoWait || x == late:
			case o == n && x.asked < late.asked:
				s.fail("%s is let in before %s, who came to the same node before", late.c.Owner, x.c.Owner)
			case o == n:
			case served[x.c.Mode] > 0: // it is to hear so
				if x.c.Mode != backend.Shared {
					served[x.c.Mode]--
				}
			case x.known != 0 && x.known < n.wrote && x.asked+latest < late.asked:
				s.fail("%s is let in before %s, who came %v earlier and whose node had written since", late.c.Owner, x.c.Owner, late.asked-x.asked)
			}
		}
	}
}

// served is how many of those who wait at n may come in by what the store has; those who share
// all come in together.
func (s *sim) served(n *simNode) map[backend.Mode]int {
	k := map[backend.Mode]int{}
	for _, h := range s.row.Record.Holds {
		if h.Node == n.name {
			k[h.Mode] += h.Count
		}
	}
	for _, w := range n.c.In() {
		if w.Mode != backend.Shared {
			k[w.Mode]--
		}
	}
	return k
}
