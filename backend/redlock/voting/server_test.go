package voting

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
)

// server is one whose lock can be deleted, which hangs, and forgets.
type server struct {
	w      *world
	number int
	speed  int // of its clock, in thousandths

	mu    sync.Mutex
	rows  *memory.Rows
	gone  map[backend.Fence]bool // holds whose lock was deleted
	until time.Duration          // it hangs
}

func (s *server) of(node string) ledger.Table { return &place{server: s, node: node} }

func (s *server) now() time.Duration { return s.w.since() * time.Duration(s.speed) / 1000 }

func (s *server) forget() {
	s.rows, s.gone = memory.NewRows(), map[backend.Fence]bool{}
	s.rows.Clock = s.now
}

func (s *server) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	s.rows.Pause(restOf * time.Duration(s.speed) / 1000)
}

func (s *server) hang(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = s.w.since() + d
}

func (s *server) unlock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, _ := memory.OpenTable(s.rows, "").Look(context.Background(), "x")
	for _, h := range r.Record.Holds {
		s.gone[h.ID] = true
	}
}

// enter waits until the server answers, and returns its Table with its mutex locked.
func (p *place) enter() *memory.Table {
	for {
		p.server.mu.Lock()
		left := p.server.until - p.server.w.since()
		if left <= 0 {
			return memory.OpenTable(p.server.rows, p.node)
		}
		p.server.mu.Unlock()
		time.Sleep(left)
	}
}

// place is a server as a node sees it.
type place struct {
	ledger.Table
	server *server
	node   string
}

func (p *place) Node() string                    { return p.node }
func (p *place) Listen(func(m ledger.Addressed)) {}
func (p *place) Close() error                    { return nil }

// tell leaves out what was deleted.
func (p *place) tell(r ledger.Reply) ledger.Reply {
	r.Record.Holds = slices.DeleteFunc(slices.Clone(r.Record.Holds), func(h ledger.Hold) bool { return p.server.gone[h.ID] })
	return r
}

func (p *place) Look(ctx context.Context, name string) (ledger.Reply, error) {
	t := p.enter()
	defer p.server.mu.Unlock()
	r, err := t.Look(ctx, name)
	return p.tell(r), err
}

// Swap is refused where a hold goes on whose lock is gone, as far as the sender knows.
func (p *place) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	t, gone := p.enter(), p.server.gone
	defer p.server.mu.Unlock()
	for _, h := range s.Record.Holds {
		if gone[h.ID] && !stamped(s.Effects.Stamps, h.ID) {
			r, err := t.Look(ctx, s.Name)
			return p.tell(r), err
		}
	}
	s.Effects.Ended = slices.DeleteFunc(slices.Clone(s.Effects.Ended), func(id backend.Fence) bool { return gone[id] })
	r, err := t.Swap(ctx, s)
	if err == nil && r.Written {
		for _, st := range s.Effects.Stamps {
			delete(gone, st.ID)
		}
	}
	return p.tell(r), err
}

func (p *place) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {
	t := p.enter()
	defer p.server.mu.Unlock()
	if p.server.gone[rs[0].ID] {
		return []error{backend.ErrNotHeld}, nil
	}
	errs, err := t.Renew(ctx, rs)
	if len(errs) == 1 && errs[0] != nil && !errors.Is(errs[0], backend.ErrNotHeld) {
		return nil, errs[0]
	}
	return errs, err
}
