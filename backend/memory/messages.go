package memory

import (
	"sync"

	"github.com/lockgw/lockgw/backend/ledger"
)

// messages are on their way to one node, in their order, off the store's mutex.
type messages struct {
	mu    sync.Mutex // guards the fields below
	f     func(ledger.Addressed)
	queue []ledger.Addressed
	busy  bool
	wg    sync.WaitGroup
}

func (b *messages) start(f func(ledger.Addressed)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.f = f
}

func (b *messages) stop() {
	b.mu.Lock()
	b.f, b.queue = nil, nil
	b.mu.Unlock()
	b.wg.Wait()
}

func (b *messages) put(m ledger.Addressed) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.f == nil {
		return false
	}
	b.queue = append(b.queue, m)
	if !b.busy {
		b.busy = true
		b.wg.Go(b.deliver)
	}
	return true
}

func (b *messages) deliver() {
	for {
		b.mu.Lock()
		if len(b.queue) == 0 {
			b.busy = false
			b.mu.Unlock()
			return
		}
		m, f := b.queue[0], b.f
		b.queue = b.queue[1:]
		b.mu.Unlock()
		f(m)
	}
}
