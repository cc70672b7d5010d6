package model

// callers: client k of node i asks, gives up, releases, dies.
func (w *world) callers(i, k int, add adder) {
	n := &w.nodes[i]
	c := &n.clients[k]
	here, who := n.process == up, clientName(i, k)
	end := func(w *world) {
		n := &w.nodes[i]
		c := &n.clients[k]
		caller := c.caller
		e := n.c.Release(w.now, caller)
		w.carryOut(i, e)
		*c = client{ops: c.ops}
	}
	ask := func(w *world) { w.asks(i, k) }
	journaled := n.journal.has(k)
	switch c.state {
	case idle:
		if here && c.ops > 0 {
			add(false, func(w *world) { w.nodes[i].clients[k].ops--; ask(w) }, "$n asks", who, "")
		}
	case waits:
		if here && c.granted {
			add(true, func(w *world) { w.tell(i, k) }, "$n is told: granted", who, "")
		}
		if here && w.faults.Withdraw > 0 {
			add(false, func(w *world) { w.faults.Withdraw--; end(w) }, "$n gives up", who, "")
		}
	case holds:
		if here {
			add(true, end, "$n releases", who, "")
		}
		if w.faults.Withdraw > 0 {
			add(false, func(w *world) { w.faults.Withdraw--; w.nodes[i].clients[k].state = dead }, "$n dies", who, "")
		}
		if !journaled { // its gateway was killed, and what it held is over
			if here {
				add(true, func(w *world) { c := &w.nodes[i].clients[k]; *c = client{ops: c.ops} }, "$n hears that it lost", who, "")
			}
		}
	case dead:
		if here {
			add(true, func(w *world) {
				c := &w.nodes[i].clients[k]
				if journaled {
					end(w)
				}
				*c = client{ops: c.ops}
			}, "$n is found dead", who, "")
		}
	case retries:
		if here {
			add(true, func(w *world) {
				if journaled {
					w.resumes(i, k)
				} else {
					ask(w)
				}
			}, "$n asks again", who, "")
		}
	}
}

func (w *world) asks(i, k int) {
	n := &w.nodes[i]
	c := &n.clients[k]
	c.state, c.caller = waits, w.newCaller(i, k)
	w.carryOut(i, n.c.Enter(w.now, c.caller))
}

// resumes: the turn that the journal has is the answer to a client that asks again.
func (w *world) resumes(i, k int) {
	n := &w.nodes[i]
	c := &n.clients[k]
	if at := n.c.Deadline(c.caller); w.now < at {
		c.state, c.deadline = holds, at
	} else {
		w.carryOut(i, n.c.Tick(w.now))
	}
}
