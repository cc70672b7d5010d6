package engine

import (
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// Telling is what a node says of a name, as it was when it said so.
type Telling struct {
	Node string `json:"node"`
	// Callers are the first of those who hold the name there: at most backend.MaxSeveral of
	// them, and fewer if more do not fit into a message.
	Callers []ledger.Caller `json:"callers,omitempty"`
	// Holds is how many hold it there.
	Holds int `json:"holds,omitempty"`
	// Waiters is how many wait there, and Waiting the first of them, in their order: at most
	// 20, and fewer if more do not fit. They have no Fence.
	Waiters int             `json:"waiters,omitempty"`
	Waiting []ledger.Caller `json:"waiting,omitempty"`
	// Last is the newest fence that was told under a hold of the node that still stands; 0:
	// there is none.
	Last backend.Fence `json:"last,omitempty"`
	// Left is when the last of those who hold is over, from then on, unless it is prolonged.
	Left time.Duration `json:"left,omitempty"`
	// Time is the time of day at the node, in microseconds of Unix time: what is told about
	// its callers has times, too, and clocks of machines differ.
	Time int64 `json:"time,omitempty"`
}

// At is the time of day at the node when it said so; one of an earlier version does not tell:
// then it is now.
func (t *Telling) At(now time.Time) time.Time {
	if t.Time == 0 {
		return now
	}
	return time.UnixMicro(t.Time)
}

const mostWaiting = 20

// telling is how things are with a name at this node; false: it is not known here.
func (e *Engine) telling(lock string) (t Telling, ok bool) {
	ok = e.Find(lock).See(func(c *contender.Contender, now time.Duration) { t = tellingOf(c, now) })
	t.Node, t.Time = e.cfg.Node, time.Now().UnixMicro()
	return t, ok
}

// tellingOf reads c. Who was let in and not told so far still waits.
func tellingOf(c *contender.Contender, now time.Duration) (t Telling) {
	waits := func(w *contender.Caller) {
		if t.Waiters++; len(t.Waiting) < mostWaiting {
			t.Waiting = append(t.Waiting, ledger.Caller{Owner: w.Owner, About: w.About})
		}
	}
	for _, w := range c.In() {
		switch end := EndOf(c, w); {
		case !w.Holds():
			waits(w)
		case now < end:
			if t.Holds++; len(t.Callers) < backend.MaxSeveral {
				t.Callers = append(t.Callers, ledger.Caller{Owner: w.Owner, Entries: w.Entries, Fence: w.Fence, Since: w.Since, About: w.About})
			}
			t.Left = max(t.Left, end-now)
		}
	}
	for _, w := range c.Waiting() {
		waits(w)
	}
	if now < c.End() {
		t.Last, _ = c.Last()
	}
	return t
}

// EndOf is when the hold of w is over, unless it is prolonged before.
func EndOf(c *contender.Contender, w *contender.Caller) time.Duration {
	end := c.Deadline(w)
	if w.Kept {
		end = min(end, w.MinHoldAt)
	}
	return end
}

// text is t as the answer to a question, as far as it fits into a message: rather without
// the last who wait, then without the last who hold, then without what is told about the
// first.
func (t Telling) text(id string) string {
	for {
		text := mustJSON(told{id, t})
		switch {
		case len(text) <= ledger.MaxText:
			return text
		case len(t.Waiting) > 0:
			t.Waiting = t.Waiting[:len(t.Waiting)-1]
		case len(t.Callers) > 1:
			t.Callers = t.Callers[:len(t.Callers)-1]
		case len(t.Callers) == 1 && t.Callers[0].About != "":
			t.Callers = []ledger.Caller{t.Callers[0]}
			t.Callers[0].About = ""
		default:
			t.Callers = nil
			return mustJSON(told{id, t})
		}
	}
}
