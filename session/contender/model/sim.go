package model

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// SimResult says what a simulation has seen.
type SimResult struct {
	Bad       string   // what must never be; "": nothing
	Log       []string // the last events before it
	Grants    int
	Lost      int
	Requests  int
	Kills     int
	Crashes   int // of the store
	Failovers int // to another one
	Conflicts int // the name was in use as another kind
}

// Simulate runs gateways and callers of one name for the time of virtual hours d, by a
// schedule and with faults that follow from seed. In the last ten minutes there are no
// faults and no new callers, and everybody has to be served.
func Simulate(seed uint64, d time.Duration) SimResult {
	s := newSim(seed, d)
	s.mix(seed)
	s.startFailovers(seed)
	return s.run()
}

func (s *sim) run() SimResult {
	s.begin()
	for s.r.Bad == "" && len(s.events) > 0 {
		e := heap.Pop(&s.events).(event)
		s.now = max(s.now, e.at)
		if s.now > s.end {
			break
		}
		e.do()
	}
	if s.r.Bad == "" {
		for _, n := range s.nodes {
			if len(n.callers) > 0 {
				s.fail("%s: %d callers are still there at the end", n.name, len(n.callers))
			}
		}
	}
	return s.r
}

type sim struct {
	rnd    *rand.Rand
	now    time.Duration
	end    time.Duration
	quiet  time.Duration // no faults from then on
	events events
	serial int
	count  int // of events
	row    ledger.Row
	disk   ledger.Row // what a crash leaves of it
	cfg    contender.Config
	mode   backend.Mode // the kind of name: a lock, or a semaphore of that size
	nodes  []*simNode
	r      SimResult

	forgot  time.Duration // when the store last did
	held    map[*simCaller]bool
	lastX   backend.Fence
	lastAny backend.Fence
	log     []string

	failovers failovers
	mixed     mixed
	order     order
}

type simNode struct {
	name    string
	up      bool
	paused  time.Duration // until
	deaf    bool
	life    int // counts the processes
	c       *contender.Contender
	cfg     contender.Config
	timer   int // serial of the timer that counts
	wrote   time.Duration
	callers []*simCaller
	journal simJournal
}

type simJournal struct {
	intent bool
	id     backend.Fence
	mode   backend.Mode
	in     []*simCaller
}

type simCaller struct {
	n        *simNode
	c        *contender.Caller
	holding  bool
	deadline time.Duration
	fence    backend.Fence
	written  time.Duration // the deadline that the journal has
	hold     time.Duration // how long it means to hold
	queued   bool          // has heard that it has to wait
	asked    time.Duration // when it came
	in       bool          // it was let in
	known    time.Duration // when the store first had a write that was sent after that; 0: not yet
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }

func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}

func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }

func (e *events) Push(x any) { *e = append(*e, x.(event)) }

func (e *events) Pop() any {
	x := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return x
}

func newSim(seed uint64, d time.Duration) *sim {
	s := &sim{rnd: rand.New(rand.NewPCG(seed, 1)), end: d, quiet: d - 10*time.Minute, held: map[*simCaller]bool{}}
	s.mode = []backend.Mode{backend.Exclusive, backend.Exclusive, 2, 5}[s.rnd.IntN(4)]
	s.cfg = contender.Config{
		Turns: []int{1, 4, 64}[s.rnd.IntN(3)], TurnTime: 50 * time.Millisecond, Offer: time.Second, Retry: 20 * time.Millisecond, RetryMost: time.Second,
		Margin: func(ttl time.Duration) time.Duration { return max(ttl/100, 50*time.Millisecond) },
	}
	switch s.rnd.IntN(4) {
	case 0:
		s.cfg.Strict, s.cfg.Turns = true, 1
	case 1:
		s.cfg.Retain, s.cfg.Recall = 20*time.Millisecond, 100*time.Millisecond
	case 2:
		s.cfg.Delay = time.Second
	}
	return s
}

func (s *sim) begin() {
	for i := range 2 + s.rnd.IntN(3) {
		n := &simNode{name: name(i), up: true, cfg: s.cfg}
		n.cfg.Node = n.name
		n.c = contender.New(&n.cfg)
		s.nodes = append(s.nodes, n)
		s.after(s.between(0, time.Second), func() { s.arrive(n) })
		if !s.order.on {
			s.after(s.between(time.Second, 10*time.Second), func() { s.fault(n) })
		}
		s.after(5*time.Second, func() { s.probe(n) })
	}
}

func (s *sim) between(a, b time.Duration) time.Duration {
	return a + time.Duration(s.rnd.Int64N(int64(b-a)+1))
}

func (s *sim) chance(one int) bool { return s.now < s.quiet && s.rnd.IntN(one) == 0 }

// mishap is chance, of what is a fault.
func (s *sim) mishap(one int) bool { return !s.order.on && s.chance(one) }

func (s *sim) after(d time.Duration, do func()) {
	s.count++
	heap.Push(&s.events, event{s.now + d, s.count, do})
}

func (s *sim) note(format string, args ...any) {
	if len(s.log) >= 60 {
		s.log = s.log[1:]
	}
	s.log = append(s.log, fmt.Sprintf("%12.6f ", s.now.Seconds())+fmt.Sprintf(format, args...))
}

func (s *sim) fail(format string, args ...any) {
	if s.r.Bad == "" {
		s.r.Bad, s.r.Log = fmt.Sprintf(format, args...), s.log
	}
}

// does has n do something as soon as it runs, unless that process has ended by then.
func (s *sim) does(n *simNode, life int, do func()) {
	switch {
	case !n.up || n.life != life:
	case n.paused > s.now:
		s.after(n.paused-s.now, func() { s.does(n, life, do) })
	default:
		do()
	}
}

// describe is a record in a line.
func describe(r *ledger.Record, now time.Duration) string {
	out := ""
	for _, h := range r.Holds {
		sort := "holds"
		if h.Offered {
			sort = "is offered"
		}
		out += fmt.Sprintf("%s %s %d %v (%d, %v left); ", h.Node, sort, h.Count, h.Mode, h.ID, h.End-now)
	}
	for _, e := range r.Queue {
		out += fmt.Sprintf("%s waits for %d %v, suspect %v; ", e.Node, e.Want, e.Mode, e.Suspect)
	}
	return out
}
