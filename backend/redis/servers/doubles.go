package servers

import (
	"sync"
	"time"
)

// doubles tells which of the messages that come by several subscribers are copies of one
// that another subscriber has brought. It forgets them after a moment: a copy that is later
// than that is a hint too many, which does no harm.
type doubles struct {
	mu   sync.Mutex // guards the field below
	seen map[string]*copies
}

// copies of the messages with one text.
type copies struct {
	since time.Time
	by    map[*subscriber]int
	most  int // that one subscriber has brought: so many messages there were
}

// remembered is longer than the servers of a cluster take to hand a message on.
const remembered = time.Second

// first: by has brought this text more often than any other subscriber before.
func (d *doubles) first(text string, by *subscriber) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.seen[text]
	if c == nil || time.Since(c.since) > remembered {
		c = &copies{since: time.Now(), by: map[*subscriber]int{}}
		d.seen[text] = c
	}
	c.by[by]++
	if c.by[by] <= c.most {
		return false
	}
	c.most++
	return true
}

// forget drops what is old.
func (d *doubles) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for text, c := range d.seen {
		if time.Since(c.since) > remembered {
			delete(d.seen, text)
		}
	}
}
