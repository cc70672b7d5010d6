package model

import (
	"fmt"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session/contender"
)

// arrive has a caller come, and the next one later.
func (s *sim) arrive(n *simNode) {
	if s.now >= s.quiet {
		return
	}
	pause := []time.Duration{time.Millisecond, 20 * time.Millisecond, time.Second, 40 * time.Second}[s.rnd.IntN(4)]
	s.after(s.order.denser(s.between(0, pause)), func() { s.arrive(n) })
	if !n.up || len(n.callers) > 20 {
		return
	}
	hold := []time.Duration{time.Millisecond, 100 * time.Millisecond, 20 * time.Second}[s.rnd.IntN(3)]
	x := &simCaller{n: n, hold: s.between(0, hold)}
	if s.rnd.IntN(10) > 0 { // some go on for longer than a fixed lease
		x.hold = s.order.denser(x.hold)
	}
	s.serial++
	x.c = &contender.Caller{Mode: s.mode, TTL: []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}[s.rnd.IntN(3)], Owner: backend.Owner(fmt.Sprint(n.name, s.serial))}
	if s.mode == backend.Exclusive && s.rnd.IntN(2) == 0 {
		x.c.Mode = backend.Shared
	}
	if mode, ok := s.mixed.kind(); ok {
		x.c.Mode = mode
	}
	x.c.NoWait = s.rnd.IntN(6) == 0
	x.c.Fixed = s.rnd.IntN(8) == 0
	x.c.Curious = s.rnd.IntN(2) == 0
	if s.rnd.IntN(8) == 0 {
		x.c.MinHold = s.between(0, time.Second)
	}
	if s.rnd.IntN(8) == 0 {
		x.c.MaxHold = s.between(0, 10*time.Second)
	}
	x.asked = s.now
	n.callers = append(n.callers, x)
	s.does(n, n.life, func() {
		s.note("%s asks, %v, ttl %v, nowait %v fixed %v", x.c.Owner, x.c.Mode, x.c.TTL, x.c.NoWait, x.c.Fixed)
		s.carryOut(n, n.c.Enter(s.now, x.c))
		if s.chance(10) { // gives up
			s.after(s.between(0, time.Second), func() { s.release(x) })
		} else if s.chance(20) {
			s.after(s.between(0, time.Second), func() { s.hurry(x) })
		}
	})
}

func (s *sim) find(n *simNode, c *contender.Caller) *simCaller {
	for _, x := range n.callers {
		if x.c == c {
			return x
		}
	}
	return nil
}

// carryOut does what the contender of n asks for.
func (s *sim) carryOut(n *simNode, e contender.Effects) {
	for _, j := range e.Journal {
		s.write(n, j)
	}
	for _, c := range e.Granted {
		life := n.life
		s.after(s.between(0, time.Millisecond), func() { s.does(n, life, func() { s.accept(n, c) }) })
	}
	for _, c := range e.Queued {
		x := s.find(n, c)
		if x == nil || x.queued || !c.Curious || !c.Waits() {
			s.fail("%s hears that it has to wait: %+v", c.Owner, x)
		} else {
			x.queued = true
		}
	}
	for _, x := range e.Ended {
		if c := s.find(n, x.Caller); c != nil {
			s.note("%s is over: reason %d", c.c.Owner, x.Reason)
			if c.holding {
				s.r.Lost++
			} else if x.Reason == contender.Conflict {
				s.r.Conflicts++
			}
			s.gone(c)
		}
	}
	if e.Send != nil {
		s.send(n, e.Send)
	}
	if len(e.Ask) > 0 {
		s.ask(n, e.Ask)
	}
	if e.Renew != nil {
		s.renew(n, *e.Renew)
	}
	s.serial++
	n.timer = s.serial
	if e.Timer != 0 {
		id, life := n.timer, n.life
		if e.Timer <= s.now {
			s.fail("%s: a timer that is due already would never end", n.name)
		}
		s.after(e.Timer-s.now, func() {
			s.does(n, life, func() {
				if n.timer == id {
					s.carryOut(n, n.c.Tick(s.now))
				}
			})
		})
	}
	for _, x := range n.callers {
		if x.holding {
			x.deadline = n.c.Deadline(x.c)
		}
	}
	if s.order.on {
		s.checkOrder(n)
	}
	s.check()
}

func (s *sim) write(n *simNode, e contender.Entry) {
	j := &n.journal
	switch e.Kind {
	case contender.Intent:
		j.intent = true
	case contender.Clear:
		j.intent = false
	case contender.Deadline, contender.Lease:
		for _, x := range j.in {
			if x.c == e.Caller {
				x.written = e.Deadline
			}
		}
	case contender.LetIn:
		if j.id != e.Hold {
			j.in = nil
		}
		j.id, j.mode = e.Hold, e.Caller.Mode
		if x := s.find(n, e.Caller); x != nil {
			x.fence, x.written = e.Caller.Fence, e.Deadline
			j.in = append(j.in, x)
		}
	case contender.End:
		for i, x := range j.in {
			if x.c == e.Caller {
				j.in = append(j.in[:i:i], j.in[i+1:]...)
				break
			}
		}
	}
}

// accept tells a caller that it holds the name.
func (s *sim) accept(n *simNode, c *contender.Caller) {
	x := s.find(n, c)
	if x == nil || x.holding {
		return
	}
	ok, e := n.c.Accept(s.now, c)
	if ok && s.mishap(500) {
		s.carryOut(n, e)
		s.kill(n) // before it could be told
		return
	}
	if ok {
		s.r.Grants++
		x.holding, x.deadline, x.fence = true, n.c.Deadline(c), c.Fence
		s.note("%s holds with fence %d until %v", c.Owner, c.Fence, x.deadline)
		if s.now >= x.deadline {
			s.fail("%s is told late", c.Owner)
		}
		switch {
		case c.Mode == backend.Exclusive && c.Fence <= s.lastAny, c.Mode == backend.Shared && c.Fence <= s.lastX:
			s.fail("%s has fence %d, after %d and %d", c.Owner, c.Fence, s.lastX, s.lastAny)
		case c.Mode == backend.Exclusive:
			s.lastX = c.Fence
		}
		if c.Mode.Limit() == 0 {
			s.lastAny = max(s.lastAny, c.Fence)
		}
		s.held[x] = true
		s.after(x.hold, func() { s.release(x) })
		if s.chance(4) {
			s.after(s.between(0, x.hold), func() { s.change(x) })
		}
	}
	s.carryOut(n, e)
}

// release: x releases, or gives up; if its gateway is away, later.
func (s *sim) release(x *simCaller) {
	n := x.n
	if s.find(n, x.c) == nil {
		return
	}
	if !n.up || n.paused > s.now {
		s.after(100*time.Millisecond, func() { s.release(x) })
		return
	}
	s.note("%s releases or gives up", x.c.Owner)
	c := x.c
	s.gone(x)
	s.carryOut(n, n.c.Release(s.now, c))
}

func (s *sim) gone(x *simCaller) {
	x.holding = false
	delete(s.held, x)
	for i, y := range x.n.callers {
		if y == x {
			x.n.callers = append(x.n.callers[:i:i], x.n.callers[i+1:]...)
			return
		}
	}
}

// checkEnds: no node counts on a hold for longer than the store keeps it for it, unless that has
// forgotten something of late.
func (s *sim) checkEnds() {
	if s.forgot != 0 && s.now < s.forgot+longest {
		return
	}
	for _, n := range s.nodes {
		if !n.up || len(n.c.In()) == 0 {
			continue
		}
		if h := s.row.Record.Hold(n.c.Hold()); h != nil && n.c.End() > h.End {
			s.fail("%s counts on %d until %v, the store has it until %v", n.name, h.ID, n.c.End(), h.End)
		}
	}
}

// check: who holds the name, by what it was told.
func (s *sim) check() {
	s.checkEnds()
	held, kinds := map[backend.Mode]int{}, map[int]bool{}
	for c := range s.held {
		if s.now < c.deadline {
			held[c.c.Mode]++
			kinds[c.c.Mode.Limit()] = true
		}
	}
	bad := len(kinds) > 1 || held[backend.Exclusive] > 1 || held[backend.Exclusive] > 0 && held[backend.Shared] > 0
	for m, n := range held {
		bad = bad || m.Limit() > 0 && n > m.Limit()
	}
	if bad {
		for c := range s.held {
			s.note("%s holds until %v", c.c.Owner, c.deadline)
		}
		s.fail("the name is held by %v (0: alone, -1: shared, n: as permits of n)", held)
	}
}
