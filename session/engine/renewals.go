package engine

import (
	"context"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// renewals is the watchdog: it renews the leases that are due, many with one request,
// and tells each name what came of it. A contender asks for a renewal at a third of its
// ttl, and only while somebody here uses the name: nothing is renewed for the dead.
type renewals struct {
	e    *Engine
	crew crew[renewal]
}

type renewal struct {
	n *Name
	r ledger.Renewal
}

const (
	renewBatch   = 100 // leases in one request
	renewWorkers = 4   // requests at once
)

func (w *renewals) start(e *Engine) {
	w.e, w.crew = e, crew[renewal]{wg: &e.wg, workers: renewWorkers, batch: renewBatch, do: w.send}
}

// add has r sent as soon as a worker is free.
func (w *renewals) add(n *Name, r ledger.Renewal) {
	r.Name = n.name
	w.crew.add(renewal{n, r})
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
