package contender

import "time"

// A node that retains names may keep one that nobody there uses, and does not write down
// when that is so. One who does not want to wait elsewhere would be refused. So the nodes
// that hold the name, and say in the record that they retain, are asked. If it is not used
// there, this node queues, as it does for one who waits: then it is given up at once. All
// that takes no longer than Config.Recall.

// recall is what is asked on behalf of those who do not want to wait.
type recall struct {
	until  time.Duration // they are refused then; 0: nobody was asked
	unused bool          // the name is not used where it is held
}

// recalls: one who does not want to wait, and cannot have the name now, may have it soon.
func (c *Contender) recalls() bool {
	if r := &c.recall; r.until == 0 && c.cfg.Recall > 0 && !c.copy.OthersWait(c.cfg.Node) {
		if c.out.Ask = c.retainers(); len(c.out.Ask) > 0 {
			r.until = c.now + c.cfg.Recall
		}
	}
	return c.now < c.recall.until
}

// retainers are the nodes that may give up what they do not use, so that the head of the
// queue can have it; none, if somebody else has the name.
func (c *Contender) retainers() (nodes []string) {
	for _, h := range c.copy.Holds {
		switch {
		case h.Node == c.cfg.Node:
		case h.Retains:
			nodes = append(nodes, h.Node)
		case c.queue.head().Mode.Limit() == 0:
			return nil
		}
	}
	return nodes
}

// Told takes what the nodes of Effects.Ask have said: how many callers at each have the
// name or wait for it. One that is missing has said nothing. That is a hint like any
// message: it grants nothing.
func (c *Contender) Told(now time.Duration, uses map[string]int) Effects {
	c.now = now
	if r := &c.recall; r.until != 0 {
		if r.unused = c.unused(uses); !r.unused {
			r.until = now
		}
	}
	return c.advance()
}

// unused: of a lock, all who hold it do not use it; of a semaphore, one of them does not.
func (c *Contender) unused(uses map[string]int) bool {
	one, all := false, true
	for _, node := range c.retainers() {
		n, told := uses[node]
		idle := told && n == 0
		one, all = one || idle, all && idle
	}
	return one && (all || c.queue.head().Mode.Limit() > 0)
}
