package quorum

import (
	"sync"
	"time"
)

// Unused are records that nobody uses, as this node has left them at a place, which a later
// write does not have.
type Unused[P comparable] struct {
	mu sync.Mutex // guards the field below
	of map[string]leftover[P]
}

type leftover[P comparable] struct {
	at    P
	since time.Duration
}

// Note notes what this node has written.
func (u *Unused[P]) Note(name string, r *Row, at P) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.Record.InUse() {
		delete(u.of, name)
		return
	}
	u.put(name, at)
}

// Found notes what a scan has found. It has to stay so for as long as what this node left.
func (u *Unused[P]) Found(name string, at P) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if l, ok := u.of[name]; !ok || l.at != at {
		u.put(name, at)
	}
}

func (u *Unused[P]) put(name string, at P) {
	if u.of == nil {
		u.of = map[string]leftover[P]{}
	}
	u.of[name] = leftover[P]{at, now()}
}

// Due offers the names of which nobody has heard for so long, and forgets those that are taken.
func (u *Unused[P]) Due(after time.Duration, take func(name string, at P) bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for name, l := range u.of {
		if now()-l.since >= after && take(name, l.at) {
			delete(u.of, name)
		}
	}
}
