package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// renewals is the watchdog: it renews the leases that are due, many in one
// request, and tells each place what came of it. A place asks for a renewal at a
// third of its ttl, but only while it has a turn or somebody to give one to:
// nothing is renewed for the dead.
type renewals struct {
	m       *Manager
	mu      sync.Mutex // guards the fields below
	due     []renewal
	busy    int // goroutines under way
	stopped bool
}

type renewal struct {
	p *place
	r backend.Renewal
}

const (
	renewBatch   = 100 // leases in one request
	renewWorkers = 4   // requests at once; one that hangs holds up no other
)

func (w *renewals) start(m *Manager) { w.m = m }

func (w *renewals) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped, w.due = true, nil
}

// add has r sent as soon as a worker is free. It may be called under place.mu.
func (w *renewals) add(r renewal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	w.due = append(w.due, r)
	if w.busy < renewWorkers {
		w.busy++
		w.m.wg.Go(w.work)
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
	rs := make([]backend.Renewal, len(batch))
	limit := w.m.cfg.Timeout
	for i, r := range batch {
		rs[i] = r.r
		limit = min(limit, r.r.TTL/5) // so that there is time for more than one
	}
	sentAt := w.m.cfg.Clock()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	errs, err := w.m.b.Renew(ctx, rs)
	cancel()
	for i, r := range batch {
		if err == nil {
			r.p.renewed(r.r, sentAt, errs[i])
		} else {
			r.p.renewed(r.r, sentAt, err)
		}
	}
}

func notHeld(err error) bool { return errors.Is(err, backend.ErrNotHeld) }

// renewNow renews one lease on behalf of a caller, by ttl from now on.
func (m *Manager) renewNow(ctx context.Context, l *Lease, ttl time.Duration) error {
	r, err := l.renewal(ttl)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, m.cfg.Timeout)
	defer cancel()
	sentAt := m.cfg.Clock()
	errs, failed := m.b.Renew(ctx, []backend.Renewal{r})
	if failed == nil {
		failed = errs[0]
	}
	l.p.renewed(r, sentAt, failed)
	return failed
}

// renewal of l by ttl. A lease that is longer by now stays so.
func (l *Lease) renewal(ttl time.Duration) (backend.Renewal, error) {
	p := l.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := l.errLocked(p.m.cfg.Clock()); err != nil {
		return backend.Renewal{}, err
	}
	l.ttl = max(l.ttl, ttl)
	return p.renewal(ttl), nil
}
