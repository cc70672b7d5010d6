package model

import (
	"math/rand/v2"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// mixed is what is out of the ordinary in a schedule.
type mixed struct {
	rnd    *rand.Rand
	kinds  bool          // the name is asked for as other kinds, too
	clocks bool          // those of the servers differ
	skew   time.Duration // of the one that serves
}

// mix: in half of the schedules the settings are combined in any way, the name is asked for
// as several kinds, or the servers' clocks differ.
func (s *sim) mix(seed uint64) {
	if seed%4 > 1 {
		return
	}
	s.mixed.rnd = rand.New(rand.NewPCG(seed, 3))
	some := func() bool { return s.mixed.rnd.IntN(2) == 0 }
	s.mixed.kinds, s.mixed.clocks, s.cfg.Exact = some(), some(), some()
	if some() {
		s.cfg.Strict, s.cfg.Turns = true, 1
	}
	if some() {
		s.cfg.Retain, s.cfg.Recall = 20*time.Millisecond, 100*time.Millisecond
	}
	if some() {
		s.cfg.Delay = time.Second
	}
}

// kind of the name that a caller asks for who takes it for another one; ok: it is such a caller.
func (m *mixed) kind() (mode backend.Mode, ok bool) {
	if !m.kinds || m.rnd.IntN(4) > 0 {
		return 0, false
	}
	return []backend.Mode{backend.Exclusive, backend.Shared, 2, 5}[m.rnd.IntN(4)], true
}

// newClock: the clock of the server that takes over is another one. It differs by less than
// that server waits.
func (m *mixed) newClock() {
	if m.clocks {
		m.skew = time.Duration(m.rnd.Int64N(int64(longest))) - longest/2
	}
}
