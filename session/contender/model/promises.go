package model

import (
	"slices"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

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
		if e.Suspect && before.Offer(e.Node) != nil { // it let that run out, too, and queues anew
			continue
		}
		if h := w.row.Record.Firm(e.Node); e.Node != name(by) && w.row.Record.Entry(e.Node) == nil && (h == nil || h.Mode != backend.Shared) {
			w.fail("displaced")
		}
	}
}

// queued sets how many each other node may let in before the node that queues now.
func (w *world) queued(before *ledger.Record, by int) {
	if w.in.Strict { // see order.go
		return
	}
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
			if c.state != holds || w.now >= c.deadline || slices.Contains(w.gone, w.nodes[i].journal.id) {
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
		if h := r.Firm(name(i)); h != nil && h.End > w.now && (n.c.Quiet() || n.c.Hold() == 0 && n.timer == 0) {
			w.fail("orphan") // nobody here knows of the hold, or does anything about it
		}
		for k := range n.clients {
			if c := &n.clients[k]; c.state == holds && w.now >= c.deadline {
				w.fail("not told of the loss")
			} else if c.state == idle && n.journal.has(k) {
				w.fail("kept for one who is gone")
			}
		}
		// Where no message can be lost, nobody sleeps while the name is free, or offered to it.
		if w.in.Message+w.in.Request+w.in.Stop+w.in.Kill+w.in.Slow+w.in.Delete > 0 {
			continue
		}
		if slices.ContainsFunc(n.clients, func(c client) bool { return c.state == holds && c.broken }) {
			w.fail("not told that it was broken")
		}
		if n.wants() && (!live(r, w.now) || r.Offer(name(i)) != nil) {
			w.fail("asleep")
		}
		if h := r.Firm(name(i)); h != nil && h.Mode.Limit() > 0 && h.Count > len(n.c.In()) && len(n.c.In()) > 0 && !n.wants() {
			w.fail("a permit kept for nobody")
		}
	}
}
