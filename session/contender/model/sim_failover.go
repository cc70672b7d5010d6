package model

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// failovers: in some schedules another server takes over now and then, which has not heard of
// the last writes, or of any. What was under way to the old one is lost. The new one grants
// nothing before every lease that it may not know of is over, as a quarantine has it.
type failovers struct {
	on    bool
	rnd   *rand.Rand
	past  []ledger.Row  // the last of them
	era   int           // counts the servers
	until time.Duration // it grants nothing before
}

// longest is more than any lease of the simulation.
const longest = 65 * time.Second

func (s *sim) startFailovers(seed uint64) {
	if f := &s.failovers; seed%3 == 0 {
		f.on, f.rnd = true, rand.New(rand.NewPCG(seed, 2))
		s.cfg.Restores = true
		s.nextFailover()
	}
}

func (s *sim) nextFailover() {
	s.after(20*time.Second+time.Duration(s.failovers.rnd.Int64N(int64(4*time.Minute))), s.failOver)
}

// remembers: the row was written.
func (s *sim) remembers() {
	if f := &s.failovers; f.on {
		if f.past = append(f.past, s.row); len(f.past) > 12 {
			f.past = f.past[1:]
		}
	}
}

func (s *sim) failOver() {
	f := &s.failovers
	if s.now >= s.quiet {
		return
	}
	s.nextFailover()
	s.row = ledger.Row{}
	if n := len(f.past); n > 0 && f.rnd.IntN(8) > 0 {
		s.row = f.past[f.rnd.IntN(n)]
	}
	s.disk, f.past = s.row, nil
	f.era++
	f.until = s.now + longest
	s.mixed.newClock()
	s.r.Failovers++
	s.forgot = s.now
	s.note("another server takes over: %s", describe(&s.row.Record, s.now))
	for _, n := range s.nodes {
		n.deaf = true
	}
}

// refusal of a write that grants.
func (s *sim) refusal(q *contender.Request) error {
	if left := s.failovers.until - s.now; left > 0 && q.Swap != nil && q.Swap.Effects.Grants {
		return &backend.Later{After: left, Err: fmt.Errorf("%w: quarantine", backend.ErrRefused)}
	}
	return nil
}
