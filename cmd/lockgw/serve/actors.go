package serve

import (
	"errors"
	"sync"
)

// actors are the parts of a process that run side by side until one of them
// ends; then all have to.
type actors struct {
	wg    sync.WaitGroup
	ended chan struct{} // of capacity 1
	mu    sync.Mutex    // guards all
	all   []error
}

func newActors() *actors { return &actors{ended: make(chan struct{}, 1)} }

// start runs f on a goroutine of its own. f ends when its part is stopped, or
// for a reason of its own, nil or an error.
func (a *actors) start(f func() error) {
	a.wg.Go(func() {
		err := f()
		a.mu.Lock()
		a.all = append(a.all, err)
		a.mu.Unlock()
		select {
		case a.ended <- struct{}{}:
		default: // only the first end is waited for
		}
	})
}

// first waits until one of them has ended.
func (a *actors) first() { <-a.ended }

// wait waits until all have ended and returns their errors.
func (a *actors) wait() error {
	a.wg.Wait()
	return errors.Join(a.all...)
}
