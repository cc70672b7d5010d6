package session

import (
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// A place is where this node stands with the store for one name: what it has
// asked, what it was granted, which of its callers has the turn and who waits.
//
// Its life is a small machine. Something happens (a caller comes or goes, an
// answer, a hint, the timer); the handler notes it under mu and calls advance,
// which does all that can be done now and sets the timer for what comes next.
// Requests come back as events, so mu is never held across a request. A caller
// who has nothing to do but to wait for one carries it to the store itself; the
// others run on goroutines of their own.
//
//	idle ──acquire──▶ queued ──confirm──▶ holding ──release──▶ releasing ──▶ idle
//	  └───────────────granted────────────▶ ▲  │turns             │ others waited:
//	                                       └──┴──────────────────┴─▶ queued
//
// Rules that keep it right, each with a test that fails without it:
//   - One numbered request at a time. A later one supersedes it: its number is
//     higher, so the store refuses the older one if it arrives late.
//   - A deadline counts from before the sending, and is looked at where a grant
//     is told (Lease.View, tell). Lost is final.
//   - Once a release is sent, no turn is given under that hold.
//   - A block of fences is the budget of turns: no more are reserved at once. When
//     it is used up, one request either gets the next one or, if another node
//     waits, lets go.
//   - What was granted to nobody here is given back.
type place struct {
	m   *Manager
	key placeKey

	mu        sync.Mutex // guards the fields below; Session.mu, then Manager.mu, may be locked under it
	phase     phase
	queue     queue
	cur       *Lease // whose turn it is
	hold      hold
	req       *request       // the numbered request (or confirm, or settling) under way
	attempt   uint64         // number of the request by which we stand in the queue or hold
	asked     time.Duration  // ttl of that attempt
	hint      backend.Fence  // a grant that a message told of
	holder    backend.Status // who has the name, as of the last answer
	trouble   error          // why the store gave no answer, the last time
	again     time.Duration  // queued: ask again then; idle: not before then
	nudge     time.Duration  // a message said when to ask again, perhaps later than the answer under way; 0: none did
	crowded   bool           // likewise, that another node waits
	watchAt   time.Duration  // idle: see whether what we passed on was confirmed
	told      int            // waiters that the store was told of
	ahead     int            // contenders before us in the store's queue, as of the last answer
	carrier   bool           // the caller of advance will carry what it sends
	carried   *request       // what it has to carry
	watching  bool           // a Promote is under way
	armed     time.Duration  // when tick will be called; 0: it will not
	timer     entry          // in Manager.timers
	gone      bool           // removed from the manager
	journaled bool           // the journal says that something may be in the store

	seen backend.Owner // who the historian was told has the name
}

type placeKey struct{ name, slot string }

type phase int

const (
	idle       phase = iota // nothing in the store, as far as we know
	queued                  // in the store's queue
	holding                 // we have the name, and give turns
	releasing               // a release, or the undoing of an acquire, is under way
	reclaiming              // the store is asked for what the process before left
)

// hold is what the store has granted to this node.
type hold struct {
	fence     backend.Fence // its first; names the hold
	block     backend.Fence // newest block known
	next      backend.Fence // fence of the next turn
	left      int           // fences left in the present block
	more      int           // fences in the block after it, which is the newest then
	last      backend.Fence // fence of the last turn given
	described backend.Fence // turn that the store knows of
	ttl       time.Duration
	mode      backend.Mode
	owner     backend.Owner // in the store
	deadline  time.Duration // on the clock
	renewAt   time.Duration
	renewing  bool
	failing   bool          // the last renewal had no answer
	others    time.Duration // since when another node is known to wait; 0: none is
	broken    bool          // a message said that it was ended by force
	describe  time.Duration // when to tell the store of the turn; 0: it knows, or is being told
	untold    int           // how often that had no answer
	fresh     bool          // granted just now, for the ttl of the first in the queue
	path      WakePath      // by which it was granted
	lost      bool          // its turn, while the store is asked for it
}

// enter puts l at the end of the queue. false: p is gone, look it up again. The
// request, if there is one, has to be carried by the caller.
func (p *place) enter(l *Lease) (ok bool, q *request, err *Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return false, nil, nil
	}
	l.p, l.ahead = p, p.queue.n
	busy := p.cur != nil || p.queue.n > 0 || p.phase == queued
	switch {
	case l.noWait && busy:
		return true, nil, p.refusal(l, CodeLocked)
	case p.queue.waiters() >= p.m.cfg.Limits.WaitersPerLock:
		p.advance() // one that was made for l goes again
		return true, nil, &Error{
			Code: CodeTooManyWaiters, Lock: l.name, RetryAfter: time.Second,
			Detail: "the limit of callers that wait for one lock (limits.waiters_per_lock) is reached",
		}
	}
	p.queue.push(l)
	q = p.advanceCarried(p.m.cfg.Clock())
	if l.phase == waiting && (p.phase == queued || p.cur != nil) {
		p.queue.tellCurious()
	}
	return true, q, nil
}

// leave ends l's wait. If it was granted meanwhile, the turn goes on to the next.
func (p *place) leave(l *Lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leaveLocked(l)
}

func (p *place) leaveLocked(l *Lease) {
	p.queue.remove(l)
	if p.cur == l {
		p.cur = nil
	}
	l.phase = over
	p.advance()
}

// tell is how a granted caller learns of it: done, unless its deadline passed
// meanwhile and it waits again.
func (p *place) tell(l *Lease) (done bool, err *Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case l.phase == over:
		return true, l.err
	case l.phase != granted || p.settling():
		return false, nil
	case p.m.cfg.Clock() >= p.hold.deadline:
		p.advance() // loses the hold, and puts l back
		return false, nil
	}
	if l.maxHold > 0 { // from now on: since the turn was given the store may have been asked
		l.maxHoldAt = p.m.cfg.Clock() + l.maxHold
		p.arm()
	}
	p.m.cfg.Journal.Told(p.entry(), l.entry(), l.answered())
	l.acknowledged = true
	p.m.event(EventAcquired, l, "")
	l.record(Step{Kind: StepGranted, Ahead: l.ahead})
	return true, nil
}

// expire is called when l's wait is over. It is refused if the name is known to
// be another's; if that is not known, or to be settled within the time an
// operation may take, it gets that time (false).
func (p *place) expire(l *Lease, code Code) (done bool, err *Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case l.phase == granted && p.settling() && !l.noWait:
		l.noWait = true // the store has the same time to answer as for any other request
		return false, nil
	case l.phase != waiting && !p.settling():
		return false, nil // the signal is under way
	case p.phase == queued, p.has() && p.cur != nil, l.noWait:
		err = p.refusal(l, code)
		p.leaveLocked(l)
		return true, err
	default:
		p.queue.hurry(l)
		return false, nil
	}
}

// has: the store has a hold for us, as far as we know.
func (p *place) has() bool { return p.phase == holding || p.phase == reclaiming }

// settling: the turn that was given must not be told yet.
func (p *place) settling() bool { return p.cur != nil && p.req != nil && p.req.verb == settle }

// end gives up l's turn. The request, if there is one, is the release: it has to
// be carried by the caller, its channel done is closed when the store has
// confirmed that the name is free, and after freeBy the name is free anyhow. freeBy
// without a request: the release will be sent later.
func (p *place) end(l *Lease, reason string, answer *receipt) (q *request, freeBy time.Duration, err *Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.m.cfg.Clock()
	p.advanceAt(now) // a deadline that has passed is a loss, whether or not its timer has run
	if err := l.errLocked(now); err != nil {
		return nil, 0, err
	}
	if l.keepUntil > now {
		p.m.cfg.Journal.Kept(p.entry(), l.s.id, string(l.owner), answer.released(l, 0))
		p.finish(l, nil, EventReleased, reason)
		p.cur, l.phase = l, kept
	} else {
		p.m.cfg.Journal.Released(p.entry(), l.s.id, answer.released(l, 0))
		p.finish(l, nil, EventReleased, reason)
	}
	if p.queue.n > 0 { // whoever releases does not wait for what comes next
		p.advanceAt(now)
		return nil, 0, nil
	}
	q = p.advanceCarried(now)
	switch {
	case q != nil && q.done == nil:
		p.launch(q)
		return nil, 0, nil
	case q == nil && p.phase != reclaiming:
		return nil, 0, nil
	}
	return q, p.hold.ttl, nil
}

// giveUp is end without waiting. The channel, if any, is closed when the store has
// confirmed.
func (p *place) giveUp(l *Lease, reason string) (<-chan struct{}, *Error) {
	q, _, err := p.end(l, reason, nil)
	if q == nil {
		return nil, err
	}
	p.launch(q)
	return q.done, nil
}

// finish ends l's turn. why is nil after a release, whose words are made when
// somebody asks.
func (p *place) finish(l *Lease, why *Error, e EventType, reason string) {
	p.cur, l.phase, l.err = nil, over, why
	if l.acknowledged {
		p.m.event(e, l, reason)
		p.observeEnd(l, e, reason)
		l.recordEnd(e, reason)
		if e == EventLost {
			l.logLoss(reason)
		}
	}
	close(l.done)
	l.s.over(l, e, reason)
}
