package contender

import (
	"slices"

	"github.com/lockgw/lockgw/backend"
)

// tellQueued tells those who are curious that they have to wait, once that is known.
func (c *Contender) tellQueued() {
	q := &c.queue
	for i := len(q.ws) - 1; i >= 0 && q.curious > 0; i-- { // the last who came have not heard
		w := q.ws[i]
		if !w.Curious || w.queued || !c.hasToWait(w) {
			continue
		}
		w.queued = true
		q.curious--
		c.out.Queued = append(c.out.Queued, w)
	}
	slices.Reverse(c.out.Queued)
}

// hasToWait: no answer that is under way can let w in.
func (c *Contender) hasToWait(w *Caller) bool {
	if c.flight == nil {
		return w.seen || c.behind(w)
	}
	alone := w.Mode == backend.Exclusive || len(c.in) > 0 && c.in[0].Mode == backend.Exclusive
	return alone && c.behind(w)
}
