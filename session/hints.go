package session

import (
	"errors"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// hinted takes a message from the store. It never changes what this node
// believes to hold; it only makes it ask.
func (p *place) hinted(h backend.Hint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return
	}
	now := p.m.cfg.Clock()
	switch h.Kind {
	case backend.HintGranted:
		// Kept while an answer is under way: it may be older than the message.
		if p.phase != holding || p.req != nil && p.req.verb == extend {
			p.hint = h.Fence
		}
	case backend.HintOthers:
		if p.phase == holding {
			p.othersWait()
		}
		p.crowded = p.req != nil
	case backend.HintBroken:
		if p.has() && p.hold.fence == h.Fence {
			p.hold.broken = true
			p.renew() // the answer says whether that is so
		}
	case backend.HintWatch:
		p.askBy(now + h.After + slack)
	case backend.HintFree:
		p.askBy(1)
	case backend.HintResync:
		p.askBy(1)
		p.look()
	}
	p.advance()
}

// look has the store say whether it still has the hold: it may be another one by now.
func (p *place) look() {
	switch l := p.cur; {
	case p.phase != holding || l == nil || !l.acknowledged || !p.m.Info().Restores:
	case l.fixed:
		p.missing() // a renewal would make the lease longer
	default:
		p.renew()
	}
}

// askBy has a contender ask again at that time, if it would not do so earlier. An
// answer that is under way may be older than the message that says so.
func (p *place) askBy(at time.Duration) {
	if p.phase == queued {
		p.again = min(p.again, at)
	}
	if p.req != nil && (p.nudge == 0 || at < p.nudge) {
		p.nudge = at
	}
}

// watched takes the answer to a Promote: the contender to whom the name was
// passed has confirmed, or has still some time, or another was given it.
func (p *place) watched(a backend.Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watching = false
	if a.Provisional {
		p.watchAt = p.m.cfg.Clock() + a.Wait + slack
	}
	p.advance()
}

// description is what the store should know of l's turn.
func (p *place) description(l *Lease, count int) backend.Request {
	return backend.Request{
		Name: p.key.name, Slot: p.key.slot, Seq: p.m.seq.Add(1), Hold: p.hold.fence,
		Owner: l.owner, Count: count, Turn: l.fence, Record: l.holder.record(),
	}
}

// described takes the answer to a Describe. Until the store knows whose turn it is, other
// nodes take the turn before it for the newest grant: so it is told again.
func (p *place) described(r backend.Request, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.phase != holding || p.hold.fence != r.Hold:
	case err == nil:
		p.hold.described, p.hold.owner, p.hold.untold = max(p.hold.described, r.Turn), r.Owner, 0
	case notHeld(err), errors.Is(err, backend.ErrStale): // a renewal is told so, too
	case p.hold.described < r.Turn:
		p.describeAgain()
		p.advance()
	}
}

// describeAgain: what the store knows of the turn is not certain. It is told later, and
// still later if that has no answer either.
func (p *place) describeAgain() {
	p.hold.described = 0
	p.hold.describe = p.m.cfg.Clock() + min(describeAfter<<p.hold.untold, describeAtLatest)
	p.hold.untold = min(p.hold.untold+1, 10)
}
