package breaker

import (
	"github.com/sony/gobreaker/v2"

	"github.com/lockgw/lockgw/backend/ledger"
)

// State of a breaker, for people and graphs.
type State int

// The states.
const (
	Closed   State = iota // the store is asked
	HalfOpen              // a few requests try whether it is back
	Open                  // a new lock is refused at once
)

// StateOf is the state of t, which New or Parts has made, and how often it
// has opened so far: that of the worst part, and how often any has. Of anything else it is
// Closed.
func StateOf(t ledger.Table) (now State, opened uint64) {
	b, ok := t.(*table)
	if !ok {
		return Closed, 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.all {
		s, n := c.state()
		now, opened = max(now, s), opened+n
	}
	return now, opened
}

func (c *circuit) state() (now State, opened uint64) {
	switch c.cb.State() {
	case gobreaker.StateOpen:
		now = Open
	case gobreaker.StateHalfOpen:
		now = HalfOpen
	}
	return now, c.opened.Load()
}
