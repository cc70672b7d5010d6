package breaker

import (
	"github.com/sony/gobreaker/v2"

	"github.com/lockgw/lockgw/backend/ledger"
)

// State of a breaker, for people and graphs, to which its number is told.
type State int

// The states, the worst one last.
const (
	Closed   = State(gobreaker.StateClosed)   // the store is asked
	HalfOpen = State(gobreaker.StateHalfOpen) // a few requests try whether it is back
	Open     = State(gobreaker.StateOpen)     // a new lock is refused at once
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
		now, opened = max(now, State(c.cb.State())), opened+c.opened.Load()
	}
	return now, opened
}
