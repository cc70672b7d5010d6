package model

import (
	"slices"
	"strings"
	"time"

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
	if w.faults.Delete > 0 && slices.ContainsFunc(w.row.Record.Holds, func(h ledger.Hold) bool { return !h.Offered }) {
		add(fault, (*world).deleteLock, "somebody DELETES the lock", "", "")
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

// deleteLock: the store does not show the holds any more, says why, and refuses what keeps
// them. What their callers were told is no promise any more.
func (w *world) deleteLock() {
	w.faults.Delete--
	r := w.row.Record.Clone()
	r.Holds = nil
	for _, h := range w.row.Record.Holds {
		w.gone = append(w.gone[:len(w.gone):len(w.gone)], h.ID)
	}
	w.row.Record = r
}

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
		c.granted, c.prolongs = false, false
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
	p.ID, p.Mode = n.journal.id, n.journal.mode
	for _, l := range n.journal.in {
		c := w.newCaller(i, l.client)
		c.Fence, c.Entries, c.TTL, c.Fixed, c.Until = l.fence, 1, l.lease.TTL, l.lease.Fixed, l.lease.Until
		p.Deadline = max(p.Deadline, l.deadline)
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
		for _, r := range []*renewal{n.renewal, n.prolongs} {
			if r != nil && (!r.answered || n.process == up) {
				return true
			}
		}
		if n.process != up {
			continue
		}
		if n.asks || n.timer != 0 && n.timer <= w.now || n.messages != [4]bool{} {
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
