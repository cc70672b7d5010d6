package model

import (
	"slices"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session/contender"
)

// newCaller makes the caller by which client k of node i asks.
func (w *world) newCaller(i, k int) *contender.Caller {
	return &contender.Caller{
		Mode: w.mode(i, k), TTL: lease, Owner: backend.Owner(clientName(i, k)),
		NoWait: w.in.NoWait && k == len(w.in.Callers[i])-1, Fixed: w.in.Fixed,
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
		w.letInAt(i, w.client(n, c))
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
	n.asks = n.asks || len(e.Ask) > 0
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
	at := slices.IndexFunc(j.in, func(l letIn) bool { return n.clients[l.client].caller == e.Caller })
	switch e.Kind {
	case contender.Intent:
		j.intent = true
	case contender.Clear:
		j.intent = false
	case contender.Released: // no instance has a MinHold
	case contender.Deadline:
		if at >= 0 {
			j.in[at].deadline = e.Deadline
		}
	case contender.Lease:
		if at >= 0 {
			j.in[at].lease, j.in[at].deadline = *e.Caller, e.Deadline
		}
	case contender.LetIn:
		if j.id != e.Hold {
			j.in = nil
		}
		j.id, j.mode = e.Hold, e.Caller.Mode
		k := slices.IndexFunc(n.clients, func(c client) bool { return c.caller == e.Caller })
		j.in = append(j.in, letIn{k, e.Caller.Fence, e.Deadline, *e.Caller})
	case contender.End:
		if at >= 0 {
			j.in = append(j.in[:at:at], j.in[at+1:]...)
		}
	}
}

// letIn counts what node i takes before those who wait at other nodes.
func (w *world) letIn(i int) {
	if slices.Contains(w.gone, w.nodes[i].c.Hold()) {
		return
	}
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
		if c.state == waits && (!c.granted || c.caller.Waits()) { // the latter was let in, and not told in time
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
		w.hears(i, c)
	}
	w.carryOut(i, e)
}

// hears: c knows now that it holds the name.
func (w *world) hears(i int, c *client) {
	c.state = holds
	c.deadline = w.nodes[i].c.Deadline(c.caller)
	if w.now >= c.deadline {
		w.fail("told late")
	}
	f := c.caller.Fence
	if slices.Contains(w.gone, w.nodes[i].c.Hold()) { // others may have come since
		return
	}
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

// journals: the gateway of client k is killed once the journal has what the client was
// about to be told.
func (w *world) journals(i, k int) {
	n := &w.nodes[i]
	c := &n.clients[k]
	c.granted = false
	_, e := n.c.Accept(w.now, c.caller)
	w.carryOut(i, e)
	w.kill(i)
}

// prolongs: client k asks for a lease of a tick more, from now.
func (w *world) prolongs(i, k int) {
	w.faults.Prolong--
	n := &w.nodes[i]
	r, ok, e := n.c.Prolong(w.now, n.clients[k].caller, lease+tick)
	w.carryOut(i, e)
	if ok {
		n.prolongs = &renewal{r: r, client: k, sentAt: w.now}
		n.clients[k].prolongs = true
	}
}
