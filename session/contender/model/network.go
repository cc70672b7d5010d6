package model

import (
	"slices"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// network carries requests out, brings answers, or loses either.
func (w *world) network(i int, add adder) {
	w.told(i, add)
	w.renewals(i, add)
	w.requests(i, add)
}

// told: what other nodes say of the name may be true or not.
func (w *world) told(i int, add adder) {
	if n := &w.nodes[i]; !n.asks || n.process != up {
		return
	}
	hear := func(w *world, uses map[string]int) {
		n := &w.nodes[i]
		n.asks = false
		w.carryOut(i, n.c.Told(w.now, uses))
	}
	add(true, func(w *world) { hear(w, nil) }, "$n hears nothing of who uses the name", name(i), "")
	add(true, func(w *world) {
		uses := map[string]int{}
		for j := range w.nodes {
			uses[name(j)] = 0
		}
		hear(w, uses)
	}, "$n hears that nobody uses the name", name(i), "")
}

func (w *world) renewals(i int, add adder) {
	w.renewal(i, "the renewal", func(n *node) **renewal { return &n.renewal }, func(w *world, n *node, r *renewal, err error) contender.Effects {
		return n.c.Renewed(w.now, r.r, r.sentAt, err)
	}, add)
	w.renewal(i, "the prolonging", func(n *node) **renewal { return &n.prolongs }, func(w *world, n *node, r *renewal, err error) contender.Effects {
		caller := &contender.Caller{} // who asked has gone
		if c := &n.clients[r.client]; c.prolongs {
			caller, c.prolongs = c.caller, false
		}
		return n.c.Prolonged(w.now, caller, r.r, r.sentAt, err)
	}, add)
}

func (w *world) renewal(i int, what string, of func(*node) **renewal, hear func(*world, *node, *renewal, error) contender.Effects, add adder) {
	n := &w.nodes[i]
	answer := func(w *world, err error) {
		n := &w.nodes[i]
		r := *of(n)
		*of(n) = nil
		w.carryOut(i, hear(w, n, r, err))
	}
	if r := *of(n); r != nil && !r.answered {
		add(true, func(w *world) {
			r := *of(&w.nodes[i])
			r.answered = true
			if !w.row.Renew(r.r.ID, r.r.TTL, w.now) {
				r.err = backend.ErrNotHeld
			}
		}, "the store gets $r of $n", name(i), what)
	} else if r != nil && n.process == up {
		add(true, func(w *world) { answer(w, (*of(&w.nodes[i])).err) }, "$n hears of $r", name(i), what)
	}
	if r := *of(n); r != nil && n.process == up && w.faults.Request > 0 {
		add(false, func(w *world) {
			w.faults.Request--
			answer(w, backend.ErrUnavailable)
		}, "$r of $n, or its answer, is LOST", name(i), what)
	}
}

func (w *world) requests(i int, add adder) {
	n := &w.nodes[i]
	q := n.request
	if q == nil {
		return
	}
	what := q.r.What()
	if !q.answered {
		add(true, func(w *world) { w.exec(w.nodes[i].request) }, "the store gets $r of $n", name(i), what)
	} else if n.process == up {
		text := "$n hears: $r written"
		if !q.reply.Written {
			text = "$n hears: $r, here is the record"
		}
		add(true, func(w *world) {
			n := &w.nodes[i]
			q := n.request
			n.request = nil
			if w.in.Strict { // its clock has gone on meanwhile, and nodes know it as well as can be
				q.reply.Clock = w.now.Microseconds()
			}
			if q.reply.Record.OthersWait(name(i)) {
				w.known(i)
			}
			recovers := n.c.Recovering()
			w.carryOut(i, n.c.Reply(w.now, q.reply, nil))
			if !recovers && n.c.Hold() != 0 && slices.Contains(q.reply.Deleted, n.c.Hold()) {
				w.fail("a deleted hold is kept")
			}
		}, text, name(i), what)
	}
	if w.faults.Request == 0 || n.process != up {
		return
	}
	lose := func(w *world) {
		w.faults.Request--
		w.nodes[i].request = nil
		w.carryOut(i, w.nodes[i].c.Reply(w.now, ledger.Reply{}, backend.ErrUnavailable))
	}
	if q.answered {
		add(false, lose, "the answer to $r of $n is LOST", name(i), what)
		return
	}
	add(false, lose, "$r of $n is LOST", name(i), what)
	if q.r.Writes() && len(w.stray) < 2 {
		add(false, func(w *world) {
			w.stray = append(w.stray, *w.nodes[i].request)
			lose(w)
		}, "$r of $n is LATE, and given up", name(i), what)
	}
}

var kinds = [...]string{"", "look", "others wait", "broken"}

// brought is the record that a message of kind k brings to node i.
func (w *world) brought(i, k int) *ledger.Reply {
	if !w.in.Carry {
		return nil
	}
	r := w.nodes[i].carried[k]
	return &r
}

// deliver brings messages, doubles or loses them.
func (w *world) deliver(i int, add adder) {
	n := &w.nodes[i]
	for k := range n.messages {
		if !n.messages[k] || n.process != up {
			continue
		}
		hear := func(w *world) {
			if ledger.Kind(k) == ledger.Waits && w.nodes[i].c.Hold() != 0 {
				w.known(i)
			}
			w.carryOut(i, w.nodes[i].c.Message(w.now, ledger.Kind(k), w.brought(i, k)))
		}
		add(true, func(w *world) { w.nodes[i].messages[k] = false; hear(w) }, "the message '$r' reaches $n", name(i), kinds[k])
		if w.faults.Message > 0 {
			add(false, func(w *world) { w.faults.Message--; w.nodes[i].messages[k] = false }, "the message '$r' to $n is LOST", name(i), kinds[k])
			add(false, func(w *world) { w.faults.Message--; hear(w) }, "the message '$r' reaches $n and will be DOUBLED", name(i), kinds[k])
		}
	}
	if n.process == up && n.timer != 0 && n.timer <= w.now {
		add(true, func(w *world) { w.carryOut(i, w.nodes[i].c.Tick(w.now)) }, "the timer of $n", name(i), "")
	}
	if n.process == up && !n.deaf && w.faults.Message > 0 {
		add(false, func(w *world) {
			w.faults.Message--
			n := &w.nodes[i]
			n.deaf, n.messages = true, [4]bool{}
		}, "$n loses its subscription", name(i), "")
	}
	if n.deaf && n.process == up {
		add(true, func(w *world) { // its own probe finds that out
			w.nodes[i].deaf = false
			w.carryOut(i, w.nodes[i].c.Resync(w.now))
		}, "$n subscribes again", name(i), "")
	}
}
