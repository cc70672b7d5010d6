package breaker

import (
	"context"
	"sync"
	"time"
)

// lookEvery is how often a store is asked how it is while a circuit is not closed.
const lookEvery = 10 * time.Second

// lookout asks the store how it is while a circuit is not closed. Else one that opened before the
// callers went home, or whose server has left the cluster, would tell until somebody asks for
// another lock that new ones are refused.
type lookout struct {
	ping  func(ctx context.Context) error
	found func() // is called when all of the store serves

	ctx  context.Context // done: it is to end
	quit context.CancelFunc
	wg   sync.WaitGroup

	mu      sync.Mutex // guards the fields below; nothing is locked under it
	down    int        // circuits that are not closed
	running bool
}

func newLookout(ping func(ctx context.Context) error, found func()) *lookout {
	l := &lookout{ping: ping, found: found}
	l.ctx, l.quit = context.WithCancel(context.Background())
	return l
}

// opened: a circuit that was closed is not closed any more.
func (l *lookout) opened() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down++; !l.running && l.ctx.Err() == nil {
		l.running = true
		l.wg.Go(l.run)
	}
}

// closed: a circuit is closed again.
func (l *lookout) closed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down--
}

// needed: there is something to find out.
func (l *lookout) needed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = l.down > 0 && l.ctx.Err() == nil
	return l.running
}

func (l *lookout) run() {
	for l.needed() {
		select {
		case <-time.After(lookEvery):
		case <-l.ctx.Done():
		}
		if !l.needed() {
			return
		}
		ctx, done := context.WithTimeout(l.ctx, lookEvery/2)
		if l.ping(ctx) == nil {
			l.found()
		}
		done()
	}
}

// stop ends it.
func (l *lookout) stop() {
	l.mu.Lock() // none begins after this
	l.quit()
	l.mu.Unlock()
	l.wg.Wait()
}
