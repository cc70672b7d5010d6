package engine

import (
	"slices"
	"sync"
)

// crew does what comes in, in its order, several things at once with one request, on goroutines that
// there are only while there is something to do.
type crew[T any] struct {
	wg      *sync.WaitGroup
	workers int // requests at once; one that hangs holds up no other
	batch   int // things in one request
	most    int // how many may wait, and what comes then is dropped; 0: any number
	do      func(some []T)

	mu      sync.Mutex // guards the fields below; it may be locked under Name.mu
	due     []T
	busy    int // goroutines under way
	stopped bool
}

// stop drops what waits, and what comes.
func (c *crew[T]) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped, c.due = true, nil
}

// add has x done as soon as a worker is free.
func (c *crew[T]) add(x T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped || c.most > 0 && len(c.due) >= c.most {
		return
	}
	c.due = append(c.due, x)
	if c.busy < c.workers {
		c.busy++
		c.wg.Go(c.work)
	}
}

func (c *crew[T]) work() {
	for {
		c.mu.Lock()
		n := min(len(c.due), c.batch)
		if n == 0 {
			c.busy--
			c.mu.Unlock()
			return
		}
		some := slices.Clone(c.due[:n])
		c.due = c.due[n:]
		c.mu.Unlock()
		c.do(some)
	}
}
