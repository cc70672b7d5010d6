package contender

import (
	"slices"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Enter puts w at the end of the queue.
func (c *Contender) Enter(now time.Duration, w *Caller) Effects {
	c.now = now
	w.phase, w.came, w.Ahead = waiting, c.storeTime(), c.queue.len()
	if c.clashes(w) {
		c.refuse(w, Conflict)
		return c.advance()
	}
	c.slow = c.slow && c.queue.len() > 0 // or the store was so for those before
	c.queue.push(w)
	switch {
	case w.NoWait && c.behind(w):
		c.refuse(w, Held)
	case c.cfg.MostWaiting > 0 && c.queue.len() > c.cfg.MostWaiting:
		c.refuse(w, Full)
	}
	return c.advance()
}

// behind: w has to wait for callers of this node: they have the name, or wait before it,
// where one of them is to have it alone or, as the store has said, all have to wait.
func (c *Contender) behind(w *Caller) bool {
	q := &c.queue
	switch {
	case len(c.in) > 0 && (w.Mode == backend.Exclusive || c.in[0].Mode == backend.Exclusive):
		return true
	case q.head() == w:
		return false
	default:
		return q.alone > 0 || !q.head().NoWait && c.copy.Entry(c.cfg.Node) != nil
	}
}

// Hurry has w, who waits, want an answer now, as if it had come with NoWait.
func (c *Contender) Hurry(now time.Duration, w *Caller) Effects {
	c.now = now
	if w.phase == waiting {
		c.queue.hurry(w)
		if c.behind(w) && c.KnownLate(w) {
			c.refuse(w, Held)
		}
	}
	return c.advance()
}

// clashes: the callers of this node use the name as another kind.
func (c *Contender) clashes(w *Caller) bool {
	other := func(all []*Caller) bool { return len(all) > 0 && all[0].Mode.Limit() != w.Mode.Limit() }
	return other(c.queue.ws) || other(c.in)
}

// refuse ends the wait of w.
func (c *Contender) refuse(w *Caller, why Reason) {
	c.queue.remove(w)
	w.phase = over
	c.out.Ended = append(c.out.Ended, Ended{w, why})
}

// Accept says that w is being told that it holds the name. If the deadline has passed
// meanwhile the answer is false, and w waits again.
func (c *Contender) Accept(now time.Duration, w *Caller) (bool, Effects) {
	c.now = now
	c.expire()
	ok := w.phase == granted && !w.settle
	if ok {
		w.phase = told
		if w.MaxHold > 0 {
			w.MaxHoldAt = now + w.MaxHold
		}
		if w.MinHold > 0 {
			w.MinHoldAt = now + w.MinHold
		}
		c.journal(LetIn, w)
	}
	return ok, c.advance()
}

// Release ends the wait or the hold of w. What it holds may be kept until its MinHold
// is over, under the watchdog then. With Delay of the Config, a hold that lost is kept from everybody.
func (c *Contender) Release(now time.Duration, w *Caller) Effects {
	c.now = now
	c.expire()
	switch {
	case w.phase == waiting:
		c.queue.remove(w)
		w.phase = over
		if c.queue.len() == 0 { // what was asked for it is undone at once
			c.retryAt = 0
		}
	case w.phase == told && w.MinHoldAt > now:
		w.phase, w.Kept, w.Fixed, w.Until = kept, true, false, 0 // it may last for longer than the lease that w was told of
		c.journal(Released, w)
	case w.phase == granted || w.phase == told:
		c.end(w)
	}
	return c.advance()
}

// Lose ends the hold of w for reason, as when it was broken by an administrator.
func (c *Contender) Lose(now time.Duration, w *Caller, reason Reason) Effects {
	c.now = now
	if w.phase == told || w.phase == granted || w.phase == kept {
		c.keepOut()
		c.lose(w, reason)
	}
	return c.advance()
}

// SetEntries has the store know that w has entered n times; Effects.Written tells when
// it does.
func (c *Contender) SetEntries(now time.Duration, w *Caller, n int) Effects {
	c.now = now
	c.expire()
	if w.phase == told {
		w.Entries, w.stale, c.describe = n, true, true
	}
	return c.advance()
}

// Describe has what people are told about the callers (Caller.About) written again, if
// the name is held here.
func (c *Contender) Describe(now time.Duration) Effects {
	c.now = now
	c.describe = c.describe || len(c.in) > 0
	return c.advance()
}

// Deadline is when the hold of w is over, unless its lease is prolonged before.
func (c *Contender) Deadline(w *Caller) time.Duration {
	if w.MaxHoldAt != 0 {
		return min(w.MaxHoldAt, c.LeaseEnd(w))
	}
	return c.LeaseEnd(w)
}

// LeaseEnd is when the lease of w is over, unless it is prolonged before.
func (c *Contender) LeaseEnd(w *Caller) time.Duration {
	if w.Until != 0 {
		return min(w.Until, c.hold.deadline)
	}
	return c.hold.deadline
}

// StoreEnd is when the store ends what is held here, by the clock of this node, if it hears no more.
func (c *Contender) StoreEnd() time.Duration { return c.hold.deadline + c.cfg.Margin(c.hold.ttl) }

// keepOut: what one alone held and lost is nobody's for a while.
func (c *Contender) keepOut() {
	if c.hold.mode == backend.Exclusive {
		c.bar = c.cfg.Delay
	}
}

// expire ends what is over by now.
func (c *Contender) expire() {
	if c.now >= c.hold.deadline {
		reason := Expired
		if c.hold.broken {
			reason = ByForce
		}
		if slices.ContainsFunc(c.in, func(w *Caller) bool { return w.phase == told }) {
			c.keepOut()
		}
		c.loseAll(reason)
	}
	for i := len(c.in) - 1; i >= 0; i-- { // who was not told waits in front again, in the same order
		switch w := c.in[i]; {
		case w.phase == kept && c.now >= w.MinHoldAt:
			c.end(w)
		case w.Until != 0 && c.now >= w.Until:
			if w.phase == told {
				c.keepOut()
			}
			c.lose(w, Expired)
		case w.phase == told && w.MaxHoldAt != 0 && c.now >= w.MaxHoldAt:
			c.keepOut()
			c.lose(w, MaxHold)
		}
	}
}

// loseAll: what the store had granted is over, for all who are in.
func (c *Contender) loseAll(reason Reason) {
	for _, w := range slices.Backward(slices.Clone(c.in)) {
		c.lose(w, reason)
	}
}

// lose ends the hold of w. One who was not told waits again, in front. What was ended by force is
// to pass no check any more: so no further fence of its block is given, and the last one counts as
// given.
func (c *Contender) lose(w *Caller, reason Reason) {
	was := w.phase
	w.Late = max(0, c.now-c.Deadline(w))
	if reason == ByForce && c.hold.mode == backend.Exclusive {
		c.hold.used, c.given = c.cfg.Turns, max(c.given, c.copy.Top)
		c.hold.last = c.given
	}
	c.over(w, reason)
	switch was {
	case told:
		c.out.Ended = append(c.out.Ended, Ended{w, reason})
	case granted:
		w.phase = waiting
		c.queue.pushFront(w)
		c.out.Granted = slices.DeleteFunc(c.out.Granted, func(x *Caller) bool { return x == w })
	}
}

// end takes w, who gives back what it has, out of those who are in.
func (c *Contender) end(w *Caller) { c.over(w, 0) }

func (c *Contender) over(w *Caller, reason Reason) {
	c.in = slices.DeleteFunc(c.in, func(x *Caller) bool { return x == w })
	if w.Holds() {
		c.out.Journal = append(c.out.Journal, Entry{Kind: End, Caller: w, Hold: c.hold.id, Deadline: c.StoreEnd(), Reason: reason})
	}
	w.phase, w.settle = over, false
}

func (c *Contender) journal(k EntryKind, w *Caller) {
	e := Entry{Kind: k, Caller: w, Hold: c.hold.id, Deadline: c.hold.deadline}
	if w != nil {
		e.Deadline = c.LeaseEnd(w)
	}
	c.out.Journal = append(c.out.Journal, e)
}
