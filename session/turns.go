package session

import (
	"time"

	"github.com/lockgw/lockgw/backend"
)

// patience is how long after the end of a lease a release is still repeated,
// for clocks and messages that are late.
const patience = 10 * time.Second

// describeAfter is how long the store may not know of the present turn.
const describeAfter = 100 * time.Millisecond

// describeAtLatest is how long after the store answers again it may not know.
const describeAtLatest = 5 * time.Second

// askFor asks for the name on behalf of the first in the queue. seq 0 begins a
// new attempt.
func (p *place) askFor(v verb, seq uint64) {
	if !p.journaled {
		p.journaled = true
		p.m.cfg.Journal.Wants(p.entry())
	}
	r := p.forFirst()
	r.Seq, r.Hold, r.Block = seq, p.hold.fence, p.hold.block
	if v == confirm {
		r.Hold = p.hint
	}
	r.Queue = v == extend || p.queue.n > p.queue.noWait
	p.asked = r.TTL
	p.ask(v, r)
}

// turns is how many fences to ask for at once: one where each caller stands in the
// store's queue by itself.
func (p *place) turns() int {
	if p.key.slot != "" {
		return 1
	}
	return p.m.cfg.Fairness.MaxTurns
}

// forFirst is what every request says about the first in the queue.
func (p *place) forFirst() backend.Request {
	l := p.queue.first
	granted := l.holder
	granted.Since = time.Now()
	return backend.Request{
		Mode: l.mode, Owner: l.owner, Count: 1, TTL: l.ttl, Turns: p.turns(),
		Floor: p.m.floor(p.key.name), Waiters: p.queue.n, Record: granted.record(),
	}
}

// prefetch reserves, while turns go on, what is missing to a whole block; with any
// more, the turns of two would pass before another node's. It never lets go of the
// name.
func (p *place) prefetch() {
	p.ask(extend, backend.Request{
		Hold: p.hold.fence, Block: p.hold.block, TTL: p.hold.ttl,
		Turns: p.m.cfg.Fairness.MaxTurns - p.hold.left, Floor: p.m.floor(p.key.name),
	})
}

// shouldPrefetch: half of the block is used, and the rest will not do.
func (p *place) shouldPrefetch() bool {
	return p.hold.left <= p.m.cfg.Fairness.MaxTurns/2 && p.hold.left < p.queue.n && p.hold.more == 0 &&
		p.hold.others == 0 && p.req == nil
}

// letGo releases the hold; those who wait here queue at the store anew.
func (p *place) letGo(delay time.Duration) {
	// An extend under way may have let go already, and queued us or been granted
	// the name again: only its own number undoes that.
	if q := p.req; q != nil && q.verb == extend && q.r.Queue && p.queue.n == 0 {
		p.attempt, p.hint = q.r.Seq, p.hold.fence
		p.undo()
		return
	}
	p.m.raise(p.key.name, p.hold.last)
	var r backend.Request
	if p.queue.n > 0 {
		r = p.forFirst()
		r.Queue = true
	}
	r.Hold, r.Attempt, r.Turn, r.Delay = p.hold.fence, p.attempt, p.hold.last, delay
	p.phase, p.hint = releasing, 0
	p.ask(release, r)
	p.req.giveUp = p.req.sentAt + p.hold.ttl + patience
}

// undo leaves the store's queue, or gives back what was granted there.
func (p *place) undo() {
	p.phase = releasing
	p.ask(cancel, backend.Request{Attempt: p.attempt, Hold: p.hint})
	p.req.giveUp = p.req.sentAt + max(p.asked, window) + patience
	p.hint = 0
}

// lose ends the hold: nobody here has the name any more, told or not. The store
// is asked to forget it, in case it still has it.
func (p *place) lose(reason string) {
	if l := p.cur; l != nil {
		p.drop(l, reason)
	}
	p.letGo(p.m.cfg.Delay)
}

// missing: the store does not have the hold. One that may forget is told of it, once:
// until the answer the hold is held as before.
func (p *place) missing() {
	if l := p.cur; l == nil || !l.acknowledged || !p.m.Info().Restores {
		p.lose(reasonGone)
		return
	}
	p.m.raise(p.key.name, p.hold.top())
	p.askForPast()
}

// top is the last fence that is reserved.
func (h *hold) top() backend.Fence {
	if h.more > 0 {
		return h.block + backend.Fence(h.more) - 1
	}
	return h.next + backend.Fence(h.left) - 1
}

// drop ends the present turn by a loss. A caller that was not told waits again.
func (p *place) drop(l *Lease, reason string) {
	switch {
	case l.phase == kept:
		p.cur = nil
		p.m.cfg.Journal.Free(p.entry())
	case l.acknowledged:
		p.m.cfg.Journal.Lost(p.entry(), l.s.id, l.loss(reason))
		p.finish(l, l.lostError(reason), EventLost, reason)
	default:
		p.cur, l.phase = nil, waiting
		p.queue.pushFront(l)
	}
}

// give gives the turn to the first in the queue.
func (p *place) give(now time.Duration) {
	l := p.queue.first
	p.queue.remove(l)
	p.cur = l
	if p.hold.left == 0 {
		p.hold.next, p.hold.left, p.hold.more = p.hold.block, p.hold.more, 0
	}
	l.phase, l.count, l.fence = granted, 1, p.hold.next
	l.holder.Since, l.path = time.Now(), p.turnPath()
	if l.minHold > 0 {
		l.keepUntil = now + l.minHold
	}
	p.hold.next++
	p.hold.left--
	p.hold.last = l.fence
	if p.hold.describe == 0 && p.hold.described != l.fence {
		p.hold.describe = now + describeAfter
	}
	fresh := p.hold.fresh
	p.hold.fresh = false
	exact := p.m.cfg.Fairness.ExactOwner && p.hold.owner != l.owner
	if l.ttl > p.hold.ttl || l.fixed && !fresh || exact {
		p.ask(settle, backend.Request{
			Mode: l.mode, Hold: p.hold.fence, TTL: l.ttl, Owner: l.owner, Count: 1, Turn: l.fence, Record: l.holder.record(),
		})
		return
	}
	l.signal()
}

// keepUp renews the lease and tells the store of the turn, when they are due.
func (p *place) keepUp(now time.Duration) {
	if p.renews() && now >= p.hold.renewAt {
		p.renew()
	}
	if p.hold.describe == 0 || now < p.hold.describe {
		return
	}
	p.hold.describe = 0
	// An entry that is being written describes the turn as well.
	if l := p.cur; l != nil && l.busy == nil && p.hold.described != l.fence {
		p.m.describe(p, p.description(l, l.count))
	}
}

// renews: the watchdog extends the lease, unless its turn asked for a fixed one, or the
// first turn is still to come, which may.
func (p *place) renews() bool {
	return !p.hold.renewing && !p.hold.fresh && (p.cur == nil || !p.cur.fixed || p.cur.phase == kept)
}

func (p *place) renew() {
	if p.hold.renewing {
		return
	}
	p.hold.renewing = true
	p.m.renewals.add(renewal{p, p.renewal(p.hold.ttl)})
}

func (p *place) renewal(ttl time.Duration) backend.Renewal {
	return backend.Renewal{Name: p.key.name, Slot: p.key.slot, Mode: p.hold.mode, Hold: p.hold.fence, TTL: ttl}
}

// renewed takes the answer to a renewal that was sent at sentAt.
func (p *place) renewed(r backend.Renewal, sentAt time.Duration, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.has() || p.hold.fence != r.Hold {
		return
	}
	now := p.m.cfg.Clock()
	p.observeRenewal(r, sentAt, now, err)
	p.hold.renewing = false
	switch {
	case p.late(): // lost, whatever the store says
	case err == nil:
		p.hold.ttl = max(p.hold.ttl, r.TTL)
		p.prolong(sentAt + r.TTL - margin(r.TTL))
		p.hold.renewAt = sentAt + third(r.TTL)
		p.hold.failing = false
		p.tellTurn(EventRenewed, "")
		if p.hold.broken { // the renewal may have been sent before that
			p.hold.broken, p.hold.renewAt = false, now
		}
	case notHeld(err) && p.hold.broken:
		p.lose(reasonBroken)
	case notHeld(err) && p.phase == reclaiming: // the store is being told
	case notHeld(err):
		p.missing()
	default:
		p.hold.renewAt = now + max(p.hold.ttl/10, 2*slack)
		p.jeopardy(err)
	}
	p.advance()
}

// jeopardy: the store did not confirm the hold, which still stands.
func (p *place) jeopardy(err error) {
	if !p.hold.failing {
		p.hold.failing = true
		p.tellTurn(EventJeopardy, err.Error())
	}
}

// prolong moves the deadline, never back.
func (p *place) prolong(deadline time.Duration) {
	if deadline <= p.hold.deadline {
		return
	}
	if l := p.cur; l != nil && (l.acknowledged || l.phase == kept) {
		p.m.cfg.Journal.Deadline(p.entry(), deadline)
	}
	p.hold.deadline = deadline
}

func (p *place) tellTurn(e EventType, reason string) {
	if l := p.cur; l != nil && l.acknowledged && l.phase == granted {
		p.m.event(e, l, reason)
	}
}

func (p *place) othersWait() {
	if p.hold.others == 0 {
		p.hold.others = p.m.cfg.Clock()
	}
}
