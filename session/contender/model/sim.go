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
	Bad      string   // what must never be; "": nothing
	Log      []string // the last events before it
	Grants   int
	Lost     int
	Requests int
	Kills    int
}

// Simulate runs gateways and callers of one name for the time of virtual hours d, by a
// schedule and with faults that follow from seed. In the last ten minutes there are no
// faults and no new callers, and everybody has to be served.
func Simulate(seed uint64, d time.Duration) SimResult {
	s := newSim(seed, d)
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
	order  int
	row    ledger.Row
	cfg    contender.Config
	mode   backend.Mode // the kind of name: a lock, or a semaphore of that size
	nodes  []*simNode
	r      SimResult

	held    map[*simCaller]bool
	lastX   backend.Fence
	lastAny backend.Fence
	log     []string
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
	callers []*simCaller
	journal simJournal
}

type simJournal struct {
	intent   bool
	id       backend.Fence
	mode     backend.Mode
	deadline time.Duration
	in       []*simCaller
}

type simCaller struct {
	n        *simNode
	c        *contender.Caller
	holding  bool
	deadline time.Duration
	fence    backend.Fence
	hold     time.Duration // how long it means to hold
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
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
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
		s.cfg.Retain = 20 * time.Millisecond
	case 2:
		s.cfg.Delay = time.Second
	}
	for i := range 2 + s.rnd.IntN(3) {
		n := &simNode{name: name(i), up: true, cfg: s.cfg}
		n.cfg.Node = n.name
		n.c = contender.New(&n.cfg)
		s.nodes = append(s.nodes, n)
		s.after(s.between(0, time.Second), func() { s.arrive(n) })
		s.after(s.between(time.Second, 10*time.Second), func() { s.fault(n) })
		s.after(5*time.Second, func() { s.probe(n) })
	}
	return s
}

func (s *sim) between(a, b time.Duration) time.Duration {
	return a + time.Duration(s.rnd.Int64N(int64(b-a)+1))
}

func (s *sim) chance(one int) bool { return s.now < s.quiet && s.rnd.IntN(one) == 0 }

func (s *sim) after(d time.Duration, do func()) {
	s.order++
	heap.Push(&s.events, event{s.now + d, s.order, do})
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

// run has n do something as soon as it runs, unless that process has ended by then.
func (s *sim) run(n *simNode, life int, do func()) {
	switch {
	case !n.up || n.life != life:
	case n.paused > s.now:
		s.after(n.paused-s.now, func() { s.run(n, life, do) })
	default:
		do()
	}
}

// arrive has a caller come, and the next one later.
func (s *sim) arrive(n *simNode) {
	if s.now >= s.quiet {
		return
	}
	pause := []time.Duration{time.Millisecond, 20 * time.Millisecond, time.Second, 40 * time.Second}[s.rnd.IntN(4)]
	s.after(s.between(0, pause), func() { s.arrive(n) })
	if !n.up || len(n.callers) > 20 {
		return
	}
	x := &simCaller{n: n, hold: s.between(0, []time.Duration{time.Millisecond, 100 * time.Millisecond, 20 * time.Second}[s.rnd.IntN(3)])}
	s.serial++
	x.c = &contender.Caller{Mode: s.mode, TTL: []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}[s.rnd.IntN(3)], Owner: backend.Owner(fmt.Sprint(n.name, s.serial))}
	if s.mode == backend.Exclusive && s.rnd.IntN(2) == 0 {
		x.c.Mode = backend.Shared
	}
	x.c.NoWait = s.rnd.IntN(6) == 0
	x.c.Fixed = s.rnd.IntN(8) == 0
	if s.rnd.IntN(8) == 0 {
		x.c.MinHold = s.between(0, time.Second)
	}
	if s.rnd.IntN(8) == 0 {
		x.c.MaxHold = s.between(0, 10*time.Second)
	}
	n.callers = append(n.callers, x)
	s.run(n, n.life, func() {
		s.note("%s asks, %v, ttl %v, nowait %v fixed %v", x.c.Owner, x.c.Mode, x.c.TTL, x.c.NoWait, x.c.Fixed)
		s.carryOut(n, n.c.Enter(s.now, x.c))
		if s.chance(10) { // gives up
			s.after(s.between(0, time.Second), func() { s.release(x) })
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
		s.after(s.between(0, time.Millisecond), func() { s.run(n, life, func() { s.accept(n, c) }) })
	}
	for _, x := range e.Ended {
		if c := s.find(n, x.Caller); c != nil {
			s.note("%s is over: reason %d", c.c.Owner, x.Reason)
			if c.holding {
				s.r.Lost++
			}
			s.gone(c)
		}
	}
	if e.Send != nil {
		s.send(n, e.Send)
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
			s.run(n, life, func() {
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
	s.check()
}

func (s *sim) write(n *simNode, e contender.Entry) {
	j := &n.journal
	switch e.Kind {
	case contender.Intent:
		j.intent = true
	case contender.Clear:
		j.intent = false
	case contender.Deadline:
		j.deadline = e.Deadline
	case contender.LetIn:
		if j.id != e.Hold {
			j.in = nil
		}
		j.id, j.mode, j.deadline = e.Hold, e.Caller.Mode, e.Deadline
		if x := s.find(n, e.Caller); x != nil {
			x.fence = e.Caller.Fence
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

// check: who holds the name, by what it was told.
func (s *sim) check() {
	var x, sh, p int
	for c := range s.held {
		switch {
		case s.now >= c.deadline:
		case c.c.Mode == backend.Exclusive:
			x++
		case c.c.Mode == backend.Shared:
			sh++
		default:
			p++
		}
	}
	if x > 1 || x > 0 && sh > 0 || p > s.mode.Limit() {
		for c := range s.held {
			s.note("%s holds until %v", c.c.Owner, c.deadline)
		}
		s.fail("%d hold the name alone, %d shared, %d as permits of %d", x, sh, p, s.mode.Limit())
	}
}

// send carries a request to the store and its answer back, late, twice or never.
func (s *sim) send(n *simNode, q *contender.Request) {
	s.r.Requests++
	life, answered := n.life, false
	answer := func(r ledger.Reply, err error) {
		s.run(n, life, func() {
			if !answered {
				answered = true
				s.carryOut(n, n.c.Reply(s.now, r, err))
			}
		})
	}
	s.after(2*time.Second, func() { answer(ledger.Reply{}, backend.ErrUnavailable) })
	if s.chance(200) {
		return // lost
	}
	delay := s.between(100*time.Microsecond, 2*time.Millisecond)
	if s.chance(200) {
		delay = s.between(0, 20*time.Second) // and may be carried out after it was given up
	}
	s.after(delay, func() {
		r := s.exec(n, q)
		if s.chance(200) {
			return // the answer is lost
		}
		s.after(s.between(100*time.Microsecond, 2*time.Millisecond), func() { answer(r, nil) })
	})
}

// exec is the store.
func (s *sim) exec(n *simNode, q *contender.Request) ledger.Reply {
	s.serial++
	version, clock := ledger.Version(fmt.Sprint("v", s.serial)), backend.Fence(s.now.Microseconds())
	if live := len(s.row.Record.Holds) + len(s.row.Record.Queue); live == 0 && s.chance(50) {
		s.row = ledger.Row{} // as a tombstone does after two minutes
	}
	var ms []ledger.Message
	written := false
	switch {
	case q.Swap != nil:
		if written = s.row.Swap(*q.Swap, version, s.now, clock); written {
			ms = q.Swap.Effects.Messages
		}
	case q.Join != nil:
		ms, _ = s.row.Join(*q.Join, version, clock)
	}
	s.note("the store: %s of %s, written %v: %s", q.What(), n.name, written, describe(&s.row.Record, s.now))
	r := s.row.Reply(s.now)
	r.Written, r.Clock = written, s.now.Microseconds()
	for _, m := range ms {
		if !s.publish(m, r) {
			r.Unheard = append(r.Unheard, m.Node)
		}
	}
	return r
}

func (s *sim) publish(m ledger.Message, r ledger.Reply) bool {
	for _, n := range s.nodes {
		if n.name != m.Node || !n.up || n.deaf {
			continue
		}
		life, times := n.life, 1
		switch {
		case s.chance(100):
			times = 0
		case s.chance(100):
			times = 2
		}
		for range times {
			d := s.between(100*time.Microsecond, 2*time.Millisecond)
			if s.chance(100) {
				d = s.between(0, 10*time.Second)
			}
			s.after(d, func() {
				s.run(n, life, func() {
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

func (s *sim) renew(n *simNode, r ledger.Renewal) {
	s.r.Requests++
	life, sentAt, answered := n.life, s.now, false
	answer := func(err error) {
		s.run(n, life, func() {
			if !answered {
				answered = true
				s.carryOut(n, n.c.Renewed(s.now, r, sentAt, err))
			}
		})
	}
	s.after(2*time.Second, func() { answer(backend.ErrUnavailable) })
	if s.chance(100) {
		return
	}
	s.after(s.between(100*time.Microsecond, 2*time.Millisecond), func() {
		var err error
		if !s.row.Renew(r.ID, r.TTL, s.now) {
			err = backend.ErrNotHeld
		}
		s.after(s.between(100*time.Microsecond, 2*time.Millisecond), func() { answer(err) })
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
			s.note("%s is killed", n.name)
			s.r.Kills++
			n.up, n.c = false, nil
			n.life++
			s.after(s.between(10*time.Millisecond, 40*time.Second), func() { s.start(n) })
		}
	case 1:
		n.paused = s.now + s.between(time.Millisecond, 40*time.Second)
		s.note("%s is paused until %v", n.name, n.paused)
	case 2:
		n.deaf = true
		s.note("%s hears no messages", n.name)
	}
}

// probe finds out that messages do not arrive.
func (s *sim) probe(n *simNode) {
	s.after(5*time.Second, func() { s.probe(n) })
	if n.deaf && n.up {
		n.deaf = false
		s.run(n, n.life, func() { s.carryOut(n, n.c.Resync(s.now)) })
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
	p := contender.Past{ID: n.journal.id, Mode: n.journal.mode, Deadline: n.journal.deadline}
	for _, x := range n.journal.in {
		c := *x.c
		c.Fence, c.Entries = x.fence, 1
		if !x.holding { // its client has not heard: it comes back for the answer, or is gone
			s.after(s.between(0, time.Second), func() { s.release(x) })
		}
		x.c = &c
		p.Callers = append(p.Callers, x.c)
	}
	var e contender.Effects
	n.c, e = contender.Recover(s.now, &n.cfg, p)
	s.carryOut(n, e)
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
