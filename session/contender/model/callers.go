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
		w.inQueue(i, k, add, end)
	case holds:
		if here {
			add(true, end, "$n releases", who, "")
			w.leases(i, k, add)
		}
		if h := w.row.Record.Firm(name(i)); w.faults.Break > 0 && h != nil && journaled && h.ID == n.journal.id {
			add(false, func(w *world) { w.breaks(i, k) }, "$n is broken by an administrator", who, "")
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

// inQueue: client k of node i waits, and is told, gives up or is in a hurry.
func (w *world) inQueue(i, k int, add adder, end func(*world)) {
	n := &w.nodes[i]
	c := &n.clients[k]
	here, who := n.process == up, clientName(i, k)
	if here && c.granted {
		add(true, func(w *world) { w.tell(i, k) }, "$n is told: granted", who, "")
		if w.faults.Kill > 0 {
			add(false, func(w *world) { w.journals(i, k) }, "$n is in the journal, and its gateway is KILLED", who, "")
		}
	}
	if here && w.faults.Withdraw > 0 {
		add(false, func(w *world) { w.faults.Withdraw--; end(w) }, "$n gives up", who, "")
	}
	if here && w.faults.Hurry > 0 && !c.caller.NoWait {
		add(false, func(w *world) {
			w.faults.Hurry--
			n := &w.nodes[i]
			w.carryOut(i, n.c.Hurry(w.now, n.clients[k].caller))
		}, "$n is in a hurry", who, "")
	}
}

// leases: client k, who holds the name, has its lease changed.
func (w *world) leases(i, k int, add adder) {
	n := &w.nodes[i]
	if w.faults.Prolong > 0 && n.prolongs == nil {
		add(false, func(w *world) { w.prolongs(i, k) }, "$n asks for a longer lease", clientName(i, k), "")
	}
	if w.faults.Loosen > 0 && n.clients[k].caller.Fixed {
		add(false, func(w *world) {
			w.faults.Loosen--
			n := &w.nodes[i]
			w.carryOut(i, n.c.Loosen(w.now, n.clients[k].caller))
		}, "the lease of $n comes under the watchdog", clientName(i, k), "")
	}
}

func (w *world) asks(i, k int) {
	n := &w.nodes[i]
	c := &n.clients[k]
	w.comes(c)
	c.state, c.caller = waits, w.newCaller(i, k)
	w.carryOut(i, n.c.Enter(w.now, c.caller))
}

// resumes: the turn that the journal has is the answer to a client that asks again.
func (w *world) resumes(i, k int) {
	n := &w.nodes[i]
	c := &n.clients[k]
	if w.now < n.c.Deadline(c.caller) {
		w.hears(i, c)
	} else {
		w.carryOut(i, n.c.Tick(w.now))
	}
}
