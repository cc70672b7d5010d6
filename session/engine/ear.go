package engine

import (
	"context"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// While no messages arrive, the store is asked again about each name of which one may tell something,
// every lookEach: so often that what is offered to this node is seen before it goes to the next. Of
// very many names no more than one is asked about each lookGap.
const (
	lookEach = 500 * time.Millisecond
	lookGap  = time.Millisecond
)

// ear knows whether messages arrive, and stands in for them while they do not.
type ear struct {
	e    *Engine
	life context.Context // ends with stop
	stop context.CancelFunc
	lost chan struct{} // has an element when none may arrive any more

	mu    sync.Mutex    // guards the field below; it may be locked under Name.mu
	until time.Duration // for how long that is believed; 0: they arrive
}

func (r *ear) start(e *Engine) {
	r.e, r.lost = e, make(chan struct{}, 1)
	r.life, r.stop = context.WithCancel(context.Background())
	e.wg.Go(r.run)
}

// heard takes note of what the store says of its messages. true: there is no more to do about it.
func (r *ear) heard(k ledger.Kind) bool {
	switch k {
	case ledger.Deaf:
		r.set(r.e.cfg.Clock() + ledger.DeafFor)
		backend.Signal(r.lost)
		return true
	case ledger.Resync:
		r.set(0)
	}
	return false
}

func (r *ear) set(until time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.until = until
}

// deaf: no messages arrive. over: that was so, and nobody has said so for long.
func (r *ear) deaf() (is, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	is = r.e.cfg.Clock() < r.until
	return is, !is && r.until != 0
}

func (r *ear) run() {
	for {
		select {
		case <-r.life.Done():
			return
		case <-r.lost:
		}
		for r.looks() {
			for _, n := range r.e.all() {
				if errand := n.lookDeaf(); errand != nil {
					errand.Launch()
					backend.Wait(r.life, lookGap)
				}
			}
			backend.Wait(r.life, lookEach)
		}
	}
}

// looks: no messages arrive. Where nobody has said so for long, they may again.
func (r *ear) looks() bool {
	is, over := r.deaf()
	if over {
		r.set(0)
		r.e.resync()
	}
	return is && r.life.Err() == nil
}

// lookDeaf is Contender.Deaf if n needs that, and messages do not arrive.
func (n *Name) lookDeaf() *Errand {
	listens := false
	n.See(func(c *contender.Contender, _ time.Duration) { listens = c.Listens() })
	if !listens {
		return nil
	}
	return n.apply(Poll, func(c *contender.Contender, now time.Duration) contender.Effects {
		if is, _ := n.e.ear.deaf(); !is { // a Resync has come, or comes, and has the last word
			return c.Tick(now)
		}
		return c.Deaf(now)
	})
}
