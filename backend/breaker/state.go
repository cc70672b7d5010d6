package breaker

import (
	"github.com/sony/gobreaker/v2"

	"github.com/lockgw/lockgw/backend"
)

// State of a breaker, for people and graphs.
type State int

// The states.
const (
	Closed   State = iota // the store is asked
	HalfOpen              // a few requests try whether it is back
	Open                  // an Acquire is refused at once
)

// StateOf is the state of b, which New has made, and how often it has opened so far; of
// what Parts has made, that of the worst part, and how often any has. Of anything else
// it is Closed.
func StateOf(b backend.Backend) (now State, opened uint64) {
	if g, ok := b.(interface{ state() (State, uint64) }); ok {
		return g.state()
	}
	return Closed, 0
}

func (g *breaker) state() (now State, opened uint64) {
	switch g.cb.State() {
	case gobreaker.StateOpen:
		now = Open
	case gobreaker.StateHalfOpen:
		now = HalfOpen
	}
	return now, g.opened.Load()
}
