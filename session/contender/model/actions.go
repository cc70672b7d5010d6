package model

import (
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// An action is one thing that can happen next. A progress action happens some day if
// nothing else does; others may never happen.
type action struct {
	text     string // with $n for the node or client, $r for the request
	who      string
	what     string
	progress bool
	do       func(w *world)
}

// String is the action in words.
func (a action) String() string {
	return strings.NewReplacer("$n", a.who, "$r", a.what).Replace(a.text)
}

// actions lists all that can happen next.
func (w *world) actions() []action {
	var list []action
	add := func(progress bool, do func(w *world), text, who, what string) {
		list = append(list, action{text, who, what, progress, do})
	}
	const progress, fault = true, false
	if !w.busy() {
		add(progress, (*world).tick, "a tick passes", "", "")
	} else if w.faults.Slow > 0 {
		add(fault, func(w *world) { w.faults.Slow--; w.tick() }, "a tick passes MEANWHILE", "", "")
	}
	if r := &w.row.Record; w.faults.Vanish > 0 && w.row.Version != "" && len(r.Queue) == 0 && !live(r, w.now) {
		add(fault, (*world).vanish, "the record vanishes", "", "")
	}
	for s := range w.stray {
		add(fault, func(w *world) {
			q := w.stray[s]
			w.stray = append(w.stray[:s:s], w.stray[s+1:]...)
			w.exec(&q)
		}, "LATE: the store gets $r of $n", name(w.stray[s].node), w.stray[s].r.What())
	}
	for i := range w.nodes {
		w.network(i, add)
		w.deliver(i, add)
		w.process(i, add)
		for k := range w.nodes[i].clients {
			w.callers(i, k, add)
		}
	}
	return list
}

type adder func(progress bool, do func(w *world), text, who, what string)

func live(r *ledger.Record, now time.Duration) bool {
	for _, h := range r.Holds {
		if h.End > now {
			return true
		}
	}
	return false
}

// tick lets time pass.
func (w *world) tick() { w.now += tick }

// vanish: a record outlives its last write by more than any request is under way; but a
// process may have been stopped before it sent its own.
func (w *world) vanish() {
	w.faults.Vanish--
	w.row = ledger.Row{}
	var rest []request
	for _, q := range w.stray {
		if q.r.Swap == nil || q.r.Swap.Base != "" {
			rest = append(rest, q)
		}
	}
	w.stray = rest
}

// network carries requests out, brings answers, or loses either.
func (w *world) network(i int, add adder) {
	w.renewals(i, add)
	w.requests(i, add)
}

func (w *world) renewals(i int, add adder) {
	n := &w.nodes[i]
	if r := n.renewal; r != nil && !r.answered {
		add(true, func(w *world) {
			r := w.nodes[i].renewal
			r.answered = true
			if !w.row.Renew(r.r.ID, r.r.TTL, w.now) {
				r.err = backend.ErrNotHeld
			}
		}, "the store gets the renewal of $n", name(i), "")
	} else if r != nil && n.process == up {
		add(true, func(w *world) {
			n := &w.nodes[i]
			r := n.renewal
			n.renewal = nil
			w.carryOut(i, n.c.Renewed(w.now, r.r, r.sentAt, r.err))
		}, "$n hears of its renewal", name(i), "")
	}
	if r := n.renewal; r != nil && n.process == up && w.faults.Request > 0 {
		add(false, func(w *world) {
			w.faults.Request--
			n := &w.nodes[i]
			r := n.renewal
			n.renewal = nil
			w.carryOut(i, n.c.Renewed(w.now, r.r, r.sentAt, backend.ErrUnavailable))
		}, "the renewal of $n, or its answer, is LOST", name(i), "")
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
			if q.reply.Record.OthersWait(name(i)) {
				w.known(i)
			}
			w.carryOut(i, n.c.Reply(w.now, q.reply, nil))
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

// deliver brings messages, doubles or loses them.
func (w *world) deliver(i int, add adder) {
	n := &w.nodes[i]
	for k := range n.messages {
		if !n.messages[k] || n.process != up {
			continue
		}
		hear := func(w *world) {
			if ledger.Kind(k) == ledger.Waits && w.nodes[i].c.Holds() {
				w.known(i)
			}
			w.carryOut(i, w.nodes[i].c.Message(w.now, ledger.Kind(k), nil))
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

// process kills, stops and starts the gateway.
func (w *world) process(i int, add adder) {
	n := &w.nodes[i]
	if n.process != killed && w.faults.Kill > 0 {
		add(false, func(w *world) { w.kill(i) }, "$n is KILLED", name(i), "")
		if q := n.request; q != nil && !q.answered && q.r.Writes() && len(w.stray) < 2 {
			add(false, func(w *world) {
				w.stray = append(w.stray, *w.nodes[i].request)
				w.kill(i)
			}, "$n is KILLED, $r still under way", name(i), q.r.What())
		}
	}
	switch n.process {
	case up:
		if w.faults.Stop > 0 {
			add(false, func(w *world) { w.faults.Stop--; w.nodes[i].process = stopped }, "$n is STOPPED", name(i), "")
		}
	case stopped:
		add(false, func(w *world) { w.nodes[i].process = up }, "$n goes on", name(i), "")
	case killed:
		add(false, func(w *world) { w.start(i) }, "$n is started again", name(i), "")
	}
}

func (w *world) kill(i int) {
	w.faults.Kill--
	n := &w.nodes[i]
	*n = node{process: killed, clients: n.clients, journal: n.journal}
	for k := range n.clients {
		c := &n.clients[k]
		c.granted = false
		if c.caller != nil {
			left := *c.caller // the deadline that it was told
			c.caller = &left
		}
		if c.state == waits {
			c.state = retries
		}
	}
}

func (w *world) start(i int) {
	n := &w.nodes[i]
	n.process = up
	if !n.journal.intent && len(n.journal.in) == 0 {
		n.c = contender.New(w.cfg[i])
		return
	}
	var p contender.Past
	p.ID, p.Mode, p.Deadline = n.journal.id, n.journal.mode, n.journal.deadline
	for _, l := range n.journal.in {
		c := w.newCaller(i, l.client)
		c.Fence, c.Entries = l.fence, 1
		n.clients[l.client].caller = c
		p.Callers = append(p.Callers, c)
	}
	var e contender.Effects
	n.c, e = contender.Recover(w.now, w.cfg[i], p)
	w.carryOut(i, e)
}

// busy: something is under way or due, so that time does not pass.
func (w *world) busy() bool {
	for i := range w.nodes {
		n := &w.nodes[i]
		if q := n.request; q != nil && (!q.answered || n.process == up) {
			return true
		}
		if r := n.renewal; r != nil && (!r.answered || n.process == up) {
			return true
		}
		if n.process != up {
			continue
		}
		if n.timer != 0 && n.timer <= w.now || n.messages != [4]bool{} {
			return true
		}
		for k := range n.clients {
			if c := &n.clients[k]; c.granted || c.state == dead || c.state == retries {
				return true
			}
		}
	}
	return false
}
