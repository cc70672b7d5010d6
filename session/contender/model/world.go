// Package model explores the rules of a lock: contenders and ledger.Step as they ship,
// in a world where requests, answers and messages are lost, late and doubled, and
// processes are killed, stopped and started again.
//
// Explore visits every state of a small instance, breadth first, so that the first
// broken one has a shortest trace. No rule is written down here a second time: only
// what must never be.
package model

import (
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// Time in an instance passes in ticks. A lease lasts two of them and an offer one. Where the
// order is strict each caller comes an instant after the one before, and a tick is longer than
// all of these together; else nothing depends on what the clock of the store says.
const (
	tick    = 3 * time.Millisecond
	third   = tick / 3 // leases are renewed after a third
	instant = time.Microsecond
	lease   = 2 * tick
	offer   = tick
)

// Faults is how many of each may happen.
type Faults struct {
	Kill     int // of a process, which is started again; its request may still be under way
	Stop     int // of a process, which goes on later
	Message  int // lost or doubled, or a subscription that is lost
	Request  int // lost, or its answer lost, or carried out late
	Withdraw int // a caller gives up, or dies
	Vanish   int // of a record that nobody uses
	Slow     int // a tick while something is under way
	Prolong  int // a caller has its lease last for longer
	Loosen   int // a fixed lease comes under the watchdog
	Hurry    int // a caller does not want to wait any more
	Delete   int // of the lock, by somebody outside lockgw
	Break    int // an administrator ends the hold of a caller
}

// Instance is what is explored.
type Instance struct {
	Faults
	// Callers has for each node the callers, each a letter: x exclusive, s shared, p a
	// permit of Permits.
	Callers []string
	Permits int
	Turns   int
	Ops     int // times that each caller asks
	Retain  bool
	Carry   bool // messages bring the record as it was when they were sent
	NoWait  bool // the last caller of each node does not want to wait
	Fixed   bool // leases are not renewed by themselves
	Strict  bool // first in, first out over all nodes
}

type clientState int

const (
	idle clientState = iota
	waits
	holds
	retries // after its gateway was killed
	dead
)

type client struct {
	state    clientState
	ops      int
	caller   *contender.Caller
	granted  bool          // may be told
	broken   bool          // an administrator has ended its hold
	prolongs bool          // has asked for a longer lease, and has no answer
	deadline time.Duration // that it knows
	arrival
}

// past is the journal of a node.
type past struct {
	intent bool
	id     backend.Fence
	mode   backend.Mode
	in     []letIn
}

type letIn struct {
	client   int
	fence    backend.Fence
	deadline time.Duration
	lease    contender.Caller // what the journal has of it besides
}

func (p *past) has(client int) bool {
	return slices.ContainsFunc(p.in, func(l letIn) bool { return l.client == client })
}

type processState int

const (
	up processState = iota
	killed
	stopped
)

type node struct {
	process processState
	deaf    bool
	c       *contender.Contender
	clients []client
	journal past
	timer   time.Duration

	request  *request
	asks     bool // other nodes whether they use the name
	renewal  *renewal
	prolongs *renewal // that a caller has asked for
	messages [4]bool  // by kind
	carried  [4]ledger.Reply
}

// request is on its way, or its answer is.
type request struct {
	node     int
	r        *contender.Request
	answered bool
	reply    ledger.Reply
	at       time.Duration // when the store answered
}

type renewal struct {
	r        ledger.Renewal
	client   int
	sentAt   time.Duration
	answered bool
	err      error
}

type world struct {
	in     *Instance
	cfg    []*contender.Config
	faults Faults
	now    time.Duration
	row    ledger.Row
	serial int             // versions
	gone   []backend.Fence // holds whose lock somebody has deleted
	clock  backend.Fence   // above every fence ever reserved
	nodes  []node
	stray  []request
	left   [][]int // left[i][j]: how many i may still let in while j waits; -1: any number

	lastX, lastAny backend.Fence // newest fence told to an exclusive caller, to any
	bad            string
}

func newWorld(in *Instance) *world {
	w := &world{in: in, faults: in.Faults, now: tick}
	for i, callers := range in.Callers {
		cfg := &contender.Config{
			Node: name(i), Turns: in.Turns, TurnTime: time.Hour, Offer: offer, Retry: tick, Strict: in.Strict,
			Margin: func(time.Duration) time.Duration { return 0 },
		}
		cfg.Restores = in.Delete > 0
		if in.Retain {
			cfg.Retain, cfg.Recall = tick, tick
		}
		w.cfg = append(w.cfg, cfg)
		w.nodes = append(w.nodes, node{c: contender.New(cfg), clients: make([]client, len(callers))})
		for k := range callers {
			w.nodes[i].clients[k].ops = in.Ops
		}
		w.left = append(w.left, make([]int, len(in.Callers)))
		for j := range w.left[i] {
			w.left[i][j] = -1
		}
	}
	return w
}

// name of node i, and of its client k.
func name(i int) string { return "ABCD"[i : i+1] }

func clientName(i, k int) string { return "A1A2A3A4B1B2B3B4C1C2C3C4D1D2D3D4"[8*i+2*k : 8*i+2*k+2] }

func (w *world) index(node string) int { return int(node[0] - 'A') }

func (w *world) mode(i, k int) backend.Mode {
	switch w.in.Callers[i][k] {
	case 's':
		return backend.Shared
	case 'p':
		return backend.Mode(w.in.Permits)
	}
	return backend.Exclusive
}

// clone shares with w only what never changes.
func (w *world) clone() *world {
	n := *w
	n.row.Record = w.row.Record.Clone()
	n.nodes = make([]node, len(w.nodes))
	n.stray = append([]request(nil), w.stray...)
	n.left = make([][]int, len(w.left))
	for i := range w.nodes {
		x := w.nodes[i]
		n.left[i] = append([]int(nil), w.left[i]...)
		x.clients = append([]client(nil), x.clients...)
		for k := range x.clients {
			if c := x.clients[k].caller; c != nil {
				copied := *c
				x.clients[k].caller = &copied
			}
		}
		old := w.nodes[i].clients
		if x.c != nil {
			x.c = x.c.Clone(func(c *contender.Caller) *contender.Caller {
				for k := range old {
					if old[k].caller == c {
						return x.clients[k].caller
					}
				}
				panic("a caller of nobody")
			})
		}
		x.journal.in = append([]letIn(nil), x.journal.in...)
		if x.request != nil {
			r := *x.request
			x.request = &r
		}
		if x.renewal != nil {
			r := *x.renewal
			x.renewal = &r
		}
		if x.prolongs != nil {
			r := *x.prolongs
			x.prolongs = &r
		}
		n.nodes[i] = x
	}
	return &n
}

func (w *world) fail(what string) {
	if w.bad == "" {
		w.bad = what
	}
}
