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

// StateOf is the state of b, which New has made, and how often it has opened so far.
// What New has not made is Closed.
func StateOf(b backend.Backend) (now State, opened uint64) {
	g, ok := b.(*breaker)
	if !ok {
		return Closed, 0
	}
	switch g.cb.State() {
	case gobreaker.StateOpen:
		now = Open
	case gobreaker.StateHalfOpen:
		now = HalfOpen
	}
	return now, g.opened.Load()
}
