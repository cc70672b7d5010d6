package breaker

import (
	"context"
	"log/slog"
	"sync"

	"github.com/lockgw/lockgw/backend"
)

// parts is a breaker for each part of a store.
type parts struct {
	backend.Backend
	part func(ctx context.Context, name string) string
	log  *slog.Logger

	mu  sync.Mutex // guards the field below
	all map[string]*breaker
}

// Parts is New for a store of which a part may fail alone, as a master of a Redis
// Cluster: the names of the other parts are not gated then. part tells where a name is
// now, in few words, for each is remembered.
func Parts(b backend.Backend, part func(ctx context.Context, name string) string, log *slog.Logger) backend.Backend {
	return &parts{Backend: b, part: part, log: log, all: map[string]*breaker{}}
}

// Acquire implements backend.Backend.
func (p *parts) Acquire(ctx context.Context, r backend.Request) (backend.Answer, error) {
	return p.of(p.part(ctx, r.Name)).Acquire(ctx, r)
}

func (p *parts) of(part string) *breaker {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.all[part]
	if g == nil {
		log := p.log
		if part != "" {
			log = log.With("server", part)
		}
		g = newBreaker(p.Backend, log)
		p.all[part] = g
	}
	return g
}

// state is that of the worst part, and how often any has opened.
func (p *parts) state() (now State, opened uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.all {
		s, n := g.state()
		now, opened = max(now, s), opened+n
	}
	return now, opened
}
