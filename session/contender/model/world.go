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
	"strconv"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// Time in an instance passes in ticks. A lease lasts two of them and an offer one; no
// sum of them reaches a microsecond, so that the clock of the store stands still.
const (
	tick  = 3 * time.Nanosecond
	lease = 2 * tick
	offer = tick
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
	NoWait  bool // the last caller of each node does not want to wait
}

type clientState int

const (
	idle clientState = iota
	waits
	holds
	retries // after its gateway was killed
	dead
)

var clientNames = [...]string{"idle", "waits", "holds", "retries", "dead"}

type client struct {
	state    clientState
	ops      int
	caller   *contender.Caller
	granted  bool          // may be told
	deadline time.Duration // that it knows
}

// past is the journal of a node.
type past struct {
	intent   bool
	id       backend.Fence
	mode     backend.Mode
	deadline time.Duration
	in       []letIn
}

type letIn struct {
	client int
	fence  backend.Fence
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
	renewal  *renewal
	messages [4]bool // by kind
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
	serial int           // versions
	clock  backend.Fence // above every fence ever reserved
	nodes  []node
	stray  []request
	left   [][]int // left[i][j]: how many i may still let in while j waits; -1: any number

	lastX, lastAny backend.Fence // newest fence told to an exclusive caller, to any
	bad            string
}

func newWorld(in *Instance) *world {
	w := &world{in: in, faults: in.Faults}
	for i, callers := range in.Callers {
		cfg := &contender.Config{
			Node: name(i), Turns: in.Turns, TurnTime: time.Hour, Offer: offer, Retry: 1,
			Margin: func(time.Duration) time.Duration { return 0 },
		}
		if in.Retain {
			cfg.Retain = tick
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
		n.nodes[i] = x
	}
	return &n
}

func (w *world) fail(what string) {
	if w.bad == "" {
		w.bad = what
	}
}

// newCaller makes the caller by which client k of node i asks.
func (w *world) newCaller(i, k int) *contender.Caller {
	return &contender.Caller{
		Mode: w.mode(i, k), TTL: lease, Owner: backend.Owner(clientName(i, k)),
		NoWait: w.in.NoWait && k == len(w.in.Callers[i])-1,
	}
}

// carryOut does what a contender has asked for.
func (w *world) carryOut(i int, e contender.Effects) {
	n := &w.nodes[i]
	for _, j := range e.Journal {
		w.write(n, j)
	}
	for _, c := range e.Granted {
		w.client(n, c).granted = true
		w.letIn(i)
	}
	for _, x := range e.Ended {
		c := w.client(n, x.Caller)
		if c.state == holds && x.Reason == contender.Expired && w.now < c.deadline {
			w.fail("lost before its deadline")
		}
		*c = client{ops: c.ops}
	}
	if e.Send != nil {
		n.request = &request{node: i, r: e.Send}
	}
	if e.Renew != nil {
		n.renewal = &renewal{r: *e.Renew, sentAt: w.now}
	}
	n.timer = e.Timer
	for k := range n.clients {
		if c := &n.clients[k]; c.state == holds && n.journal.has(k) {
			c.deadline = n.c.Deadline(c.caller)
		}
	}
}

func (w *world) client(n *node, c *contender.Caller) *client {
	for k := range n.clients {
		if n.clients[k].caller == c {
			return &n.clients[k]
		}
	}
	panic("an effect for nobody")
}

func (w *world) write(n *node, e contender.Entry) {
	j := &n.journal
	switch e.Kind {
	case contender.Intent:
		j.intent = true
	case contender.Clear:
		j.intent = false
	case contender.Deadline:
		j.deadline = e.Deadline
	case contender.Released: // no instance has a MinHold
	default:
		k := 0
		for n.clients[k].caller != e.Caller {
			k++
		}
		if e.Kind == contender.LetIn {
			if j.id != e.Hold {
				j.in = nil
			}
			j.id, j.mode, j.deadline = e.Hold, e.Caller.Mode, e.Deadline
			j.in = append(j.in, letIn{k, e.Caller.Fence})
			return
		}
		for x := range j.in {
			if j.in[x].client == k {
				j.in = append(j.in[:x:x], j.in[x+1:]...)
				break
			}
		}
	}
}

// letIn counts what node i takes before those who wait at other nodes.
func (w *world) letIn(i int) {
	for j := range w.nodes {
		n := &w.nodes[j]
		e := w.row.Record.Entry(name(j))
		if j == i || e == nil || e.Suspect || n.process != up || n.deaf || w.left[i][j] < 0 || !n.wants() {
			continue
		}
		if o := w.row.Record.Offer(name(j)); o != nil && (e.Mode.Limit() == 0 || o.Count >= e.Want) {
			continue
		}
		if w.left[i][j]--; w.left[i][j] < 0 {
			w.fail("bypass")
		}
	}
}

func (n *node) wants() bool {
	for _, c := range n.clients {
		if c.state == waits {
			return true
		}
	}
	return false
}

// known: node i has heard that others wait. From now on only those who wait here already
// come in before them under this hold.
func (w *world) known(i int) {
	here := 0
	for _, c := range w.nodes[i].clients {
		if c.state == waits && !c.granted {
			here++
		}
	}
	r := &w.row.Record
	if h := r.Firm(name(i)); h == nil || h.End <= w.now || r.Offer(name(i)) != nil {
		return
	}
	for j := range w.nodes {
		if w.left[i][j] > here && place(r, name(i)) > place(r, name(j)) {
			w.left[i][j] = here
		}
	}
}

// tell tells client k of node i that it holds the name.
func (w *world) tell(i, k int) {
	n := &w.nodes[i]
	c := &n.clients[k]
	c.granted = false
	ok, e := n.c.Accept(w.now, c.caller)
	if ok {
		c.state = holds
		c.deadline = n.c.Deadline(c.caller)
		if w.now >= c.deadline {
			w.fail("told late")
		}
		f := c.caller.Fence
		switch mode := c.caller.Mode; {
		case mode == backend.Exclusive && f <= w.lastAny, mode == backend.Shared && f <= w.lastX:
			w.fail("fence order")
		case mode == backend.Exclusive:
			w.lastX = f
		}
		if c.caller.Mode.Limit() == 0 {
			w.lastAny = max(w.lastAny, f)
		}
	}
	w.carryOut(i, e)
}

// exec is the store.
func (w *world) exec(q *request) {
	if q.r == nil {
		panic("nothing to carry out")
	}
	before := w.row
	next := ledger.Version("v" + strconv.Itoa(w.serial+1))
	var ms []ledger.Message
	ok := false
	switch {
	case q.r.Swap != nil:
		ok = w.row.Swap(*q.r.Swap, next, w.now, w.clock)
		if ok {
			ms = q.r.Swap.Effects.Messages
		}
		q.reply.Written = ok
	case q.r.Join != nil:
		ms, ok = w.row.Join(*q.r.Join, next, w.clock)
	}
	if ok {
		w.serial++
		w.clock = max(w.clock, w.row.Record.Top)
		w.touched(&before.Record, q.node)
		w.queued(&before.Record, q.node)
	}
	unheard := w.publish(ms)
	written := q.reply.Written
	q.reply = w.row.Reply(w.now)
	q.reply.Written, q.reply.Unheard = written, unheard
	q.answered, q.at = true, w.now
}

func (w *world) publish(ms []ledger.Message) (unheard []string) {
	for _, m := range ms {
		n := &w.nodes[w.index(m.Node)]
		if n.process == killed || n.deaf {
			unheard = append(unheard, m.Node)
			continue
		}
		n.messages[m.Kind] = true
	}
	return unheard
}

// touched looks for a write that took what was another's.
func (w *world) touched(before *ledger.Record, by int) {
	for _, h := range before.Holds {
		if h.Node == name(by) || h.Offered || h.Node == "" || h.End <= w.now {
			continue
		}
		if now := w.row.Record.Firm(h.Node); now == nil || now.ID != h.ID || now.Count != h.Count {
			w.fail("touched another's hold")
		}
	}
	for _, e := range before.Queue {
		if h := w.row.Record.Firm(e.Node); e.Node != name(by) && w.row.Record.Entry(e.Node) == nil && (h == nil || h.Mode != backend.Shared) {
			w.fail("displaced")
		}
	}
}

// queued sets how many each other node may let in before the node that queues now.
func (w *world) queued(before *ledger.Record, by int) {
	r, me := &w.row.Record, name(by)
	for j := range w.nodes {
		if e := r.Entry(name(j)); e == nil || e.Suspect {
			for i := range w.nodes {
				w.left[i][j] = -1
			}
		}
	}
	was, now := before.Entry(me), r.Entry(me)
	if now == nil || now.Suspect || was != nil && !was.Suspect && was.Mode == now.Mode && place(before, me) >= place(r, me) {
		return
	}
	for i := range w.nodes {
		if i == by {
			continue
		}
		left, other := 0, name(i)
		if h := r.Firm(other); h != nil {
			left += 2 * w.in.Turns // an extension may be under way
		}
		e := r.Entry(other)
		switch o := r.Offer(other); {
		case o != nil && o.Mode.Limit() == 0:
			left += w.in.Turns
		case e != nil && (place(r, other) < place(r, me) || e.Suspect):
			left += w.in.Turns
			if e.Mode.Limit() > 0 {
				left += e.Want
			}
		case o != nil:
			left += o.Count
		}
		w.left[i][by] = left
	}
}

func place(r *ledger.Record, node string) int {
	for i, e := range r.Queue {
		if e.Node == node {
			return i
		}
	}
	return len(r.Queue)
}

// check looks for what must never be.
func (w *world) check() {
	var n [3]int
	for i := range w.nodes {
		for k, c := range w.nodes[i].clients {
			if c.state != holds || w.now >= c.deadline {
				continue
			}
			switch w.mode(i, k) {
			case backend.Exclusive:
				n[0]++
			case backend.Shared:
				n[1]++
			default:
				n[2]++
			}
		}
	}
	if n[0] > 1 || n[0] > 0 && n[1] > 0 || n[2] > w.in.Permits {
		w.fail("exclusion")
	}
	permits := 0
	for _, h := range w.row.Record.Holds {
		if h.Mode.Limit() > 0 {
			permits += h.Count
		}
	}
	if permits > w.in.Permits {
		w.fail("permits")
	}
	if w.bad == "" && !w.busy() {
		w.checkRest()
	}
}

// checkRest looks at a world in which nothing is under way or due.
func (w *world) checkRest() {
	r := &w.row.Record
	for i := range w.nodes {
		n := &w.nodes[i]
		if n.process != up {
			continue
		}
		if h := r.Firm(name(i)); h != nil && h.End > w.now && n.c.Quiet() {
			w.fail("orphan") // nobody here knows of the hold
		}
		for k := range n.clients {
			if c := &n.clients[k]; c.state == holds && w.now >= c.deadline {
				w.fail("not told of the loss")
			} else if c.state == idle && n.journal.has(k) {
				w.fail("kept for one who is gone")
			}
		}
		// Where no message can be lost, nobody sleeps while the name is free.
		if w.in.Message+w.in.Request+w.in.Stop+w.in.Kill+w.in.Slow == 0 && n.wants() && !live(r, w.now) {
			w.fail("asleep")
		}
	}
}
