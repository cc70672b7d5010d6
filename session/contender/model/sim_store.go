package model

import (
	"fmt"
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// send carries a request to the store and its answer back, late, twice or never.
func (s *sim) send(n *simNode, q *contender.Request) {
	s.r.Requests++
	life, answered := n.life, false
	answer := func(r ledger.Reply, err error) {
		s.does(n, life, func() {
			if !answered {
				answered = true
				s.carryOut(n, n.c.Reply(s.now, r, err))
			}
		})
	}
	s.after(2*time.Second, func() { answer(ledger.Reply{}, backend.ErrUnavailable) })
	if s.mishap(200) {
		return // lost
	}
	delay := s.between(100*time.Microsecond, 2*time.Millisecond)
	if s.mishap(200) {
		delay = s.between(0, 20*time.Second) // and may be carried out after it was given up
	}
	era := s.failovers.era
	s.after(delay, func() {
		if era != s.failovers.era {
			return // it was for another server
		}
		if err := s.refusal(q); err != nil {
			s.after(s.between(100*time.Microsecond, 2*time.Millisecond), func() { answer(ledger.Reply{}, err) })
			return
		}
		r := s.exec(n, q)
		if s.mishap(200) {
			return // the answer is lost
		}
		s.after(s.between(100*time.Microsecond, 2*time.Millisecond), func() { answer(r, nil) })
	})
}

// exec is the store.
func (s *sim) exec(n *simNode, q *contender.Request) ledger.Reply {
	s.serial++
	version, clock := ledger.Version(fmt.Sprint("v", s.serial)), (s.now + s.mixed.skew).Microseconds()
	if live := len(s.row.Record.Holds) + len(s.row.Record.Queue); live == 0 && s.chance(50) {
		s.row = ledger.Row{} // as a tombstone does after two minutes
		s.disk = s.row
	}
	var ms []ledger.Message
	written := false
	switch {
	case q.Swap != nil:
		if written = s.row.Swap(*q.Swap, version, s.now, backend.Fence(clock)); written {
			ms = q.Swap.Effects.Messages
		}
	case q.Join != nil:
		ms, written = s.row.Join(*q.Join, version)
	}
	if written {
		s.knows(n, q.SentAt)
		s.remembers()
		s.commit(q.Swap == nil || q.Swap.Relaxed())
		written = q.Swap != nil
	}
	s.note("the store: %s of %s, written %v: %s", q.What(), n.name, written, describe(&s.row.Record, s.now))
	r := s.row.Reply(s.now)
	r.Written, r.Clock = written, clock
	for _, m := range ms {
		if !s.publish(m, r) {
			r.Unheard = append(r.Unheard, m.Node)
		}
	}
	return r
}

// commit has the disk have the row: now, or some time after it was answered. Then the store
// may crash before, and nobody hears any messages until it finds that out.
func (s *sim) commit(relaxed bool) {
	if !relaxed {
		s.disk = s.row
		return
	}
	if s.mishap(200) {
		era := s.failovers.era
		s.after(s.between(0, 100*time.Millisecond), func() {
			if era != s.failovers.era {
				return
			}
			s.row = s.disk
			s.r.Crashes++
			s.forgot = s.now
			s.note("the store crashes: %s", describe(&s.row.Record, s.now))
			for _, n := range s.nodes {
				n.deaf = true
			}
		})
		return
	}
	era := s.failovers.era
	s.after(s.between(0, 100*time.Millisecond), func() {
		if era == s.failovers.era {
			s.disk = s.row
		}
	})
}

func (s *sim) publish(m ledger.Message, r ledger.Reply) bool {
	for _, n := range s.nodes {
		if n.name != m.Node || !n.up || n.deaf {
			continue
		}
		life, times := n.life, 1
		switch {
		case s.mishap(100):
			times = 0
		case s.mishap(100):
			times = 2
		}
		for range times {
			d := s.between(100*time.Microsecond, 2*time.Millisecond)
			if s.mishap(100) {
				d = s.between(0, 10*time.Second)
			}
			s.after(d, func() {
				s.does(n, life, func() {
					copied := r
					copied.Record = r.Record.Clone()
					s.carryOut(n, n.c.Message(s.now, m.Kind, &copied))
				})
			})
		}
		return true
	}
	return false
}

// ask has nodes say how many there use the name, or nothing.
func (s *sim) ask(n *simNode, nodes []string) {
	life, uses := n.life, map[string]int{}
	for _, o := range s.nodes {
		if o.up && !o.deaf && !n.deaf && slices.Contains(nodes, o.name) && !s.mishap(20) {
			s.after(s.between(0, 2*time.Millisecond), func() {
				if o.up && o.paused <= s.now {
					uses[o.name] = len(o.c.In()) + len(o.c.Waiting())
				}
			})
		}
	}
	s.after(3*time.Millisecond, func() {
		s.does(n, life, func() { s.carryOut(n, n.c.Told(s.now, uses)) })
	})
}

func (s *sim) renew(n *simNode, r ledger.Renewal) {
	sentAt := s.now
	s.renewal(n, r, func(err error) contender.Effects { return n.c.Renewed(s.now, r, sentAt, err) })
}

// renewal carries a renewal to the store and its answer back, late or never.
func (s *sim) renewal(n *simNode, r ledger.Renewal, hear func(error) contender.Effects) {
	s.r.Requests++
	life, answered := n.life, false
	answer := func(err error) {
		s.does(n, life, func() {
			if !answered {
				answered = true
				s.carryOut(n, hear(err))
			}
		})
	}
	s.after(2*time.Second, func() { answer(backend.ErrUnavailable) })
	if s.mishap(100) {
		return
	}
	delay := func() time.Duration {
		if s.mishap(50) {
			return s.between(0, 5*time.Second)
		}
		return s.between(100*time.Microsecond, 2*time.Millisecond)
	}
	era := s.failovers.era
	s.after(delay(), func() {
		if era != s.failovers.era {
			return
		}
		var err error
		if !s.row.Renew(r.ID, r.TTL, s.now) {
			err = backend.ErrNotHeld
		}
		s.commit(false)
		s.after(delay(), func() { answer(err) })
	})
}

// fault kills, pauses or deafens n, now and then.
func (s *sim) fault(n *simNode) {
	if s.now >= s.quiet {
		return
	}
	s.after(s.between(time.Second, 60*time.Second), func() { s.fault(n) })
	switch s.rnd.IntN(3) {
	case 0:
		if n.up {
			s.kill(n)
		}
	case 1:
		n.paused = s.now + s.between(time.Millisecond, 40*time.Second)
		s.note("%s is paused until %v", n.name, n.paused)
	case 2:
		n.deaf = true
		s.note("%s hears no messages", n.name)
		if s.chance(2) {
			s.knowDeaf(n)
		}
	}
}

// knowDeaf: the store has said to n that no messages arrive.
func (s *sim) knowDeaf(n *simNode) {
	if n.deaf && n.up {
		s.does(n, n.life, func() { s.carryOut(n, n.c.Deaf(s.now)) })
		s.after(500*time.Millisecond, func() { s.knowDeaf(n) })
	}
}

func (s *sim) kill(n *simNode) {
	s.note("%s is killed", n.name)
	s.r.Kills++
	n.up, n.c = false, nil
	n.life++
	s.after(s.between(10*time.Millisecond, 40*time.Second), func() { s.start(n) })
}

// probe finds out that messages do not arrive.
func (s *sim) probe(n *simNode) {
	s.after(5*time.Second, func() { s.probe(n) })
	if n.deaf && n.up {
		n.deaf = false
		s.does(n, n.life, func() { s.carryOut(n, n.c.Resync(s.now)) })
	}
}

// start is the next process of n. Callers who held go on; who waited has gone.
func (s *sim) start(n *simNode) {
	s.note("%s is started; journal %d in, hold %d", n.name, len(n.journal.in), n.journal.id)
	for _, x := range n.journal.in {
		s.note("    %s holding %v", x.c.Owner, x.holding)
	}
	n.up, n.paused, n.deaf = true, 0, false
	old := n.callers
	n.callers = nil
	for _, x := range old {
		journaled := false
		for _, y := range n.journal.in {
			journaled = journaled || x == y
		}
		if journaled {
			n.callers = append(n.callers, x)
		} else {
			delete(s.held, x)
		}
	}
	if !n.journal.intent && len(n.journal.in) == 0 {
		n.c = contender.New(&n.cfg)
		return
	}
	p := contender.Past{ID: n.journal.id, Mode: n.journal.mode}
	for _, x := range n.journal.in {
		c := *x.c
		c.Fence, c.Entries = x.fence, 1
		if !x.holding { // its client has not heard: it comes back for the answer, or is gone
			s.after(s.between(0, time.Second), func() { s.release(x) })
		}
		x.c = &c
		p.Deadline = max(p.Deadline, x.written)
		p.Callers = append(p.Callers, x.c)
	}
	var e contender.Effects
	n.c, e = contender.Recover(s.now, &n.cfg, p)
	s.carryOut(n, e)
}
