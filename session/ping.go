package session

import (
	"context"
	"fmt"
	"sync"

	"github.com/lockgw/lockgw/backend"
)

// pings has those who ask the store how it is at the same time share one question. A store
// that hangs keeps a connection for each, and those who lock need them, too.
type pings struct {
	mu    sync.Mutex // guards the field below
	under *ping      // the one under way; nil: nobody asks
}

// ping is one question. err is its answer once done is closed.
type ping struct {
	done chan struct{}
	err  error
}

// Ping asks the store whether it can serve requests, for Config.Timeout at most, or waits for
// what it says to another one who asks, until ctx is done.
func (m *Manager) Ping(ctx context.Context) error {
	p, first := m.pings.join()
	if first {
		m.carry(ctx, p) // also if ctx ends: the answer is not only for this caller
	}
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, ctx.Err())
	}
}

// join is the question under way; first: the caller has to carry it.
func (ps *pings) join() (p *ping, first bool) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if first = ps.under == nil; first {
		ps.under = &ping{done: make(chan struct{}), err: backend.ErrDefect}
	}
	return ps.under, first
}

func (m *Manager) carry(ctx context.Context, p *ping) {
	defer func() { // of a panic too
		m.pings.mu.Lock()
		defer m.pings.mu.Unlock()
		m.pings.under = nil
		close(p.done)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.cfg.Timeout)
	defer cancel()
	p.err = m.store.Ping(ctx)
}
