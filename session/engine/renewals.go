package engine

import (
	"context"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// renewals is the watchdog: it renews the leases that are due, many with one request,
// and tells each name what came of it. A contender asks for a renewal at a third of its
// ttl, and only while somebody here uses the name: nothing is renewed for the dead.
type renewals struct {
	e       *Engine
	mu      sync.Mutex // guards the fields below; it may be locked under name.mu
	due     []renewal
	busy    int // goroutines under way
	stopped bool
}

type renewal struct {
	n *Name
	r ledger.Renewal
}

const (
	renewBatch   = 100 // leases in one request
	renewWorkers = 4   // requests at once; one that hangs holds up no other
)

func (w *renewals) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped, w.due = true, nil
}

// add has r sent as soon as a worker is free.
func (w *renewals) add(n *Name, r ledger.Renewal) {
	r.Name = n.name
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	w.due = append(w.due, renewal{n, r})
	if w.busy < renewWorkers {
		w.busy++
		w.e.wg.Go(w.work)
	}
}

func (w *renewals) work() {
	for {
		w.mu.Lock()
		n := min(len(w.due), renewBatch)
		if n == 0 {
			w.busy--
			w.mu.Unlock()
			return
		}
		batch := append([]renewal(nil), w.due[:n]...)
		w.due = w.due[n:]
		w.mu.Unlock()
		w.send(batch)
	}
}

func (w *renewals) send(batch []renewal) {
	rs := make([]ledger.Renewal, len(batch))
	limit := w.e.cfg.Timeout
	for i, x := range batch {
		rs[i] = x.r
		limit = min(limit, x.r.TTL/5) // so that there is time for more than one
	}
	sentAt := w.e.cfg.Clock()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	errs, err := w.e.table.Renew(ctx, rs)
	cancel()
	for i, x := range batch {
		one := err
		if err == nil {
			one = errs[i]
		}
		x.n.apply(Poll, func(c *contender.Contender, now time.Duration) contender.Effects {
			x.n.renewed(x.r, now, sentAt, one)
			return c.Renewed(now, x.r, sentAt, one)
		}).Launch()
	}
}

// renewed tells the owner of the answer to a renewal, before the contender takes it.
func (n *Name) renewed(r ledger.Renewal, now, sentAt time.Duration, err error) {
	n.trouble, n.at = noAnswer(err), now
	r.Name = n.name
	n.e.owner.Renewed(n.c.In(), r, now-sentAt, n.c.End()-now, err)
}
