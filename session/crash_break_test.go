package session_test

import (
	"context"
	"time"
)

// breaks has an administrator break what some of them hold.
func (c *crashes) breaks(over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(time.Duration(c.random(6000)) * time.Millisecond):
		}
		name := []string{"x", "y", permits}[c.random(3)]
		var st *stint
		c.mu.Lock()
		for _, o := range c.stints[name] {
			if !o.over && c.clock() < o.until {
				st = o
			}
		}
		if st != nil {
			c.broken[name] = c.clock() + time.Hour
		}
		c.mu.Unlock()
		if st == nil {
			continue
		}
		err := c.nodes[c.random(len(c.nodes))].alive().Break(context.Background(), name, st.fence, "", "a test")
		c.mu.Lock()
		c.broken[name] = c.clock()
		c.mu.Unlock()
		c.say("%s, which %s has, was broken: %v", name, st.by, err)
	}
}

// gone: st may be over though its client has not given it back.
func (c *crashes) gone(st *stint) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return st.ends() && st.until <= c.clock() || c.brokenLocked(st)
}

// brokenLocked: st may be over, by a break of it or of another who shared the name, whose gateway
// was away; its client may hear of that later than others come in.
func (c *crashes) brokenLocked(st *stint) bool {
	at, ok := c.broken[st.name]
	return ok && st.since <= at
}
