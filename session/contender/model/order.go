package model

import (
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// arrival is what is known of when a caller came, where the order is strict.
type arrival struct {
	asked time.Duration
	known bool   // its node has written since
	seen  []bool // nodes that have written since it is known
}

// comes has a caller come after all who are there.
func (w *world) comes(c *client) {
	if !w.in.Strict {
		return
	}
	w.now += instant
	c.arrival = arrival{asked: w.now, seen: make([]bool, len(w.nodes))}
}

// wrote: the store has written what node i sent at that time.
func (w *world) wrote(i int, sent time.Duration) {
	if !w.in.Strict {
		return
	}
	for j := range w.nodes {
		for k := range w.nodes[j].clients {
			c := &w.nodes[j].clients[k]
			if c.known {
				c.seen = slices.Clone(c.seen)
				c.seen[i] = true
			}
			c.known = c.known || c.state == waits && j == i && c.asked <= sent
		}
	}
}

// letInAt looks, where the order is strict and nothing goes wrong, for one who came before late,
// to the same node or to another one that has written before the last write of node i, and waits.
func (w *world) letInAt(i int, late *client) {
	if !w.in.Strict || w.in.Faults != (Faults{}) {
		return
	}
	for j := range w.nodes {
		for k := range w.nodes[j].clients {
			c := &w.nodes[j].clients[k]
			if !c.waitsFor(late.asked) || c.caller.NoWait {
				continue
			}
			if j == i || c.known && c.seen[i] && w.served(j) <= w.ahead(j, c) {
				w.fail("overtaken")
			}
		}
	}
}

// waitsFor: c came before that time, and waits.
func (c *client) waitsFor(before time.Duration) bool {
	return c.state == waits && !c.granted && c.asked < before
}

// ahead is how many wait at node i who came before c and each need a permit or the name.
func (w *world) ahead(i int, c *client) (n int) {
	for k := range w.nodes[i].clients {
		if x := &w.nodes[i].clients[k]; x.waitsFor(c.asked) && x.caller.Mode != backend.Shared {
			n++
		}
	}
	return n
}

// served is how many of those who wait at node i may come in by what the store has; those who
// share all come in together.
func (w *world) served(i int) (n int) {
	for _, h := range w.row.Record.Holds {
		if h.Node == name(i) {
			n += h.Count
		}
	}
	if in := w.nodes[i].c.In(); len(in) > 0 && in[0].Mode != backend.Shared {
		n -= len(in)
	}
	return n
}
