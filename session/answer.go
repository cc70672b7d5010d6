package session

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// answer takes the answer to q.
func (p *place) answer(q *request, a backend.Answer, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.req != q || p.gone {
		return // superseded
	}
	q.flying, p.trouble = false, nil
	switch {
	case errors.Is(err, backend.ErrUnavailable), errors.Is(err, backend.ErrRefused):
		p.noAnswer(q, err)
	case errors.Is(err, backend.ErrStale):
		p.req = nil
		p.superseded()
	case errors.Is(err, backend.ErrConflict):
		p.req = nil
		p.kindConflict(q)
	case err == nil, errors.Is(err, backend.ErrHeld), errors.Is(err, backend.ErrNotHeld):
		p.req = nil
		p.take(q, a, err)
	default:
		p.noAnswer(q, err)
		p.cannot(q, err)
	}
	p.advance()
}

// kindConflict: the name is of another kind at present.
func (p *place) kindConflict(q *request) {
	if q.done != nil {
		close(q.done)
	}
	p.phase = idle
	p.refuseAll(&Error{Code: CodeConflict, Detail: "it is in use as something else: as a lock, a semaphore of another size, " +
		"or by a program outside lockgw in a way with which this request does not go; use another name"})
	p.disown(q)
}

// disown has the store refuse an earlier sending of q, which had no answer and may
// still arrive when the name can be had: nobody here wants it any more. Of somebody
// who does, the next request has the same effect, for its number is higher.
func (p *place) disown(q *request) {
	if q.unknown && p.queue.n == 0 {
		p.attempt = q.r.Seq
		p.undo()
	}
}

// cannot: the store answered with an error of its own, and may have done part of
// what was asked. Asking again will hardly help those who wait.
func (p *place) cannot(q *request, err error) {
	p.m.cfg.Log.Error("the store failed in a request", "lock", p.key.name, "err", err)
	q.unknown = true
	if q.verb == acquire || q.verb == confirm {
		p.refuseAll(&Error{Code: CodeOf(err), Detail: err.Error()})
	}
}

// noAnswer has q sent again, a little later each time.
func (p *place) noAnswer(q *request, err error) {
	p.trouble = err
	q.unknown = q.unknown || errors.Is(err, backend.ErrUnavailable)
	pause := min(20*time.Millisecond<<q.tries, time.Second)
	q.tries = min(q.tries+1, 6)
	q.retryAt = p.m.cfg.Clock() + pause/2 + rand.N(pause/2)
	if q.verb == reclaim {
		p.jeopardy(err)
	}
	if q.verb == acquire && !q.unknown {
		p.refuseHasty(func(l *Lease) *Error { return p.refusal(l, CodeLocked) })
	}
}

// superseded: a later process speaks for this node. Whatever this one had is
// over.
func (p *place) superseded() {
	p.m.cfg.Log.Error("the store has seen a later request of this node; is another gateway running with its state directory?",
		"lock", p.key.name)
	if l := p.cur; l != nil {
		p.drop(l, reasonSuperseded)
	}
	p.phase = idle
	p.refuseAll(&Error{Code: CodeUnavailable, Detail: "another gateway process speaks for this node", RetryAfter: time.Second})
}

// take does what the answer to q says.
func (p *place) take(q *request, a backend.Answer, err error) {
	switch q.verb {
	case acquire:
		p.takeGrant(q, a, err)
	case confirm:
		if errors.Is(err, backend.ErrNotHeld) {
			p.hint, p.again = 0, 0 // too late: the acquire, asked again, tells how things are
			return
		}
		p.takeGrant(q, a, err)
	case extend:
		p.takeExtend(q, a, err)
	case release:
		p.takeRelease(q, a, err)
	case cancel:
		p.phase = idle
	case settle:
		p.takeSettle(q, err)
	case reclaim:
		p.takeReclaim(q, a)
	}
}

// takeGrant: the answer to a request that asked for the name.
func (p *place) takeGrant(q *request, a backend.Answer, err error) {
	now := p.m.cfg.Clock()
	nudge, crowded, path := p.nudge, p.crowded, p.wakePath(q)
	p.nudge, p.crowded = 0, false
	if q.verb != confirm {
		p.attempt = q.r.Seq
	}
	switch {
	case a.Granted:
		p.phase, p.hint, p.seen = holding, 0, ""
		p.hold = hold{
			fence: a.Hold, block: a.Block, next: a.Block, left: a.Turns, ttl: q.r.TTL, mode: q.r.Mode, owner: q.r.Owner,
			deadline: q.sentAt + q.r.TTL - margin(q.r.TTL), fresh: true,
			path: path,
		}
		p.hold.renewAt = q.sentAt + third(q.r.TTL)
		if a.Others || crowded {
			p.hold.others = now
		}
		if q.head != nil && q.head == p.queue.first {
			p.hold.described = a.Block
		}
	case a.Queued:
		p.phase, p.holder, p.told, p.ahead = queued, a.Holder, q.r.Waiters, a.Ahead
		p.again = now + q.r.TTL
		if a.Wait > 0 {
			p.again = now + min(a.Wait+slack+rand.N(slack), q.r.TTL)
		}
		if nudge != 0 {
			p.again = min(p.again, nudge)
		}
		p.refuseHasty(func(l *Lease) *Error { return p.refusal(l, CodeLocked) })
		p.queue.tellCurious()
		p.recordSeen()
	case errors.Is(err, backend.ErrHeld):
		p.phase, p.holder, p.ahead = idle, a.Holder, a.Ahead
		p.refuseHasty(func(l *Lease) *Error { return p.refusal(l, CodeLocked) })
		p.disown(q)
	default:
		p.phase = idle
	}
}

func (p *place) takeExtend(q *request, a backend.Answer, err error) {
	if a.Queued || a.Granted && a.Hold != p.hold.fence {
		p.takeGrant(q, a, nil) // we let go, and queued again
		return
	}
	p.hint = 0
	switch {
	case err != nil:
		p.missing()
	case p.late():
	default:
		p.prolong(q.sentAt + q.r.TTL - margin(q.r.TTL))
		if a.Others {
			p.othersWait()
			return
		}
		p.hold.block, p.hold.more = a.Block, a.Turns
	}
}

func (p *place) takeRelease(q *request, a backend.Answer, err error) {
	close(q.done)
	if q.r.Queue {
		p.takeGrant(q, a, err)
		return
	}
	p.phase = idle
	if a.Provisional {
		p.watchAt = p.m.cfg.Clock() + a.Wait + slack
	}
}

func (p *place) takeSettle(q *request, err error) {
	switch {
	case err != nil:
		p.lose(reasonGone)
	case p.late():
	default:
		p.hold.ttl = q.r.TTL
		p.prolong(q.sentAt + q.r.TTL - margin(q.r.TTL))
		p.hold.renewAt = q.sentAt + third(q.r.TTL)
		if p.m.cfg.Fairness.ExactOwner {
			p.hold.owner, p.hold.described = q.r.Owner, q.r.Turn
		}
		if p.cur != nil {
			p.cur.signal()
		}
	}
}
