package contender

import (
	"github.com/lockgw/lockgw/backend"
)

// admit lets in who may come in now.
func (c *Contender) admit() {
	for c.comers() > 0 {
		w := c.queue.pop()
		c.in = append(c.in, w)
		c.hold.used++
		c.hold.allow-- // counts while others wait
		w.phase, w.Entries, w.sent, w.stale = granted, 1, 0, false
		w.Fence = c.hold.block + backend.Fence(c.hold.used) - 1
		w.Until = 0
		c.given = max(c.given, w.Fence)
		w.settle = c.settles(w)
		c.hold.fresh, c.hold.last, w.Since = false, w.Fence, c.shownTime()
		if w.Fixed && !w.settle {
			w.Until = c.hold.stamped + w.TTL - c.cfg.Margin(w.TTL)
		}
		if !w.settle {
			c.out.Granted = append(c.out.Granted, w)
		}
	}
	if len(c.in) > 0 {
		c.hold.idle = 0
	} else if c.hold.idle == 0 {
		c.hold.idle = c.now
	}
}

// settles: the lease in the store is not the one that w asked for, or the owner there not
// w where that has to be so.
func (c *Contender) settles(w *Caller) bool {
	return w.TTL > c.hold.ttl || c.hold.mode == backend.Exclusive && w.TTL < c.hold.ttl || w.Fixed && !c.hold.fresh ||
		c.cfg.Exact && c.hold.mode == backend.Exclusive && !c.shown(w)
}

// shown: other nodes see that w has the name.
func (c *Contender) shown(w *Caller) bool {
	h := c.copy.Firm(c.cfg.Node)
	return h != nil && len(h.Callers) > 0 && h.Callers[0].Owner == w.Owner
}

// comers is how many of those at the head of the queue may come in now. One who needs
// the name alone comes in alone.
func (c *Contender) comers() int {
	if h := &c.hold; !h.fresh && h.deadline-c.now <= h.ttl/3 { // too little to give away; it is being renewed
		return 0
	}
	return c.welcome()
}

// welcome is how many may come in now, or as soon as the lease is renewed.
func (c *Contender) welcome() int {
	n := c.fitting()
	if c.hold.mode == backend.Exclusive {
		n = min(n, 1-len(c.in))
	}
	if h := &c.hold; h.others {
		n = min(n, h.allow)
		if !c.cfg.Strict && c.now-h.since >= c.cfg.TurnTime {
			n = 0
		}
	}
	return n
}

// fitting is how many of those at the head of the queue could come in under the hold
// that there is, at once or one after the other.
func (c *Contender) fitting() int {
	h := &c.hold
	if h.giving || c.recovers || c.bar > 0 || c.now >= h.deadline {
		return 0
	}
	room := c.cfg.Turns - h.used
	if h.mode.Limit() > 0 {
		room = min(room, h.count-len(c.in))
	}
	n := 0
	for n < c.queue.len() && n < room && c.queue.ws[n].Mode == h.mode && c.inOrder(c.queue.ws[n]) {
		n++
	}
	return n
}

// inOrder: w came before all who wait at other nodes, where that matters.
func (c *Contender) inOrder(w *Caller) bool {
	return !c.cfg.Strict || !c.copy.OthersCame(c.cfg.Node, w.came)
}
