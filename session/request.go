package session

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// window is how long the store holds a name for a contender that has to
// confirm, as this package expects it; stores may differ a little.
const window = time.Second

// slack is what a timer waits beyond a moment in the store.
const slack = 50 * time.Millisecond

// verb of a request. The numbered ones can queue this node or grant to it.
type verb int

const (
	acquire verb = iota + 1
	confirm
	extend
	release
	cancel
	settle // renews, and describes, for the turn that is about to be told
	reclaim
)

// request is one question to the store, repeated with the same number until it
// is answered, superseded or given up.
type request struct {
	verb    verb
	r       backend.Request
	head    *Lease        // first in the queue when it was made
	sentAt  time.Duration // on the clock, before the last sending
	flying  bool
	unknown bool // a sending had no answer: it may have been executed
	tries   int
	retryAt time.Duration
	giveUp  time.Duration
	done    chan struct{} // of a release: closed when it is answered or given up

	parentCtx context.Context // of the caller who releases; nil: see parent
}

// ask makes and sends a request. What was under way is superseded: its answer
// will be ignored, and the store refuses it once it has seen this one.
func (p *place) ask(v verb, r backend.Request) {
	r.Name, r.Slot = p.key.name, p.key.slot
	if r.Seq == 0 && v != confirm {
		r.Seq = p.m.seq.Add(1)
	}
	p.req = &request{verb: v, r: r, head: p.queue.first}
	if v == release {
		p.req.done = make(chan struct{})
	}
	p.fly(p.req)
}

// fly sends q, for the first time or again.
func (p *place) fly(q *request) {
	q.flying, q.sentAt, q.r.Repeat = true, p.m.cfg.Clock(), q.unknown
	p.m.wg.Add(1)
	if p.carrier {
		p.carrier, p.carried = false, q
		return
	}
	p.launch(q)
}

func (p *place) launch(q *request) { go p.carry(q) }

// carry brings q to the store and the answer back, which takes Config.Timeout at
// most. A defect of the store counts as no answer.
func (p *place) carry(q *request) {
	defer p.m.wg.Done()
	a, err := backend.Answer{}, errDefect
	defer func() { p.answer(q, a, err) }()
	ctx, cancel := context.WithTimeout(q.parent(), p.m.cfg.Timeout)
	defer cancel()
	a, err = p.m.do(ctx, q)
}

var errDefect = fmt.Errorf("%w: a defect of the gateway", backend.ErrUnavailable)

// isDone: q is a release, and was answered or given up.
func (q *request) isDone() bool {
	select {
	case <-q.done:
		return true
	default:
		return false
	}
}

func (m *Manager) do(ctx context.Context, q *request) (backend.Answer, error) {
	switch q.verb {
	case acquire:
		return m.b.Acquire(ctx, q.r)
	case confirm:
		return m.b.Confirm(ctx, q.r)
	case extend:
		return m.b.Extend(ctx, q.r)
	case release:
		return m.b.Release(ctx, q.r)
	case cancel:
		return backend.Answer{}, m.b.Cancel(ctx, q.r)
	case reclaim:
		return m.b.Reclaim(ctx, q.r)
	default:
		return backend.Answer{}, m.settle(ctx, q.r)
	}
}

// settle has the hold last for the ttl of the next turn, which is longer than
// the hold's, or fixed; and writes the turn's owner where that is asked for.
func (m *Manager) settle(ctx context.Context, r backend.Request) error {
	errs, err := m.b.Renew(ctx, []backend.Renewal{{Name: r.Name, Slot: r.Slot, Mode: r.Mode, Hold: r.Hold, TTL: r.TTL}})
	if err == nil {
		err = errs[0]
	}
	if err == nil && m.cfg.Fairness.ExactOwner {
		err = m.b.Describe(ctx, r)
	}
	return err
}

// late: the hold's deadline has passed, so no answer revives it.
func (p *place) late() bool { return p.m.cfg.Clock() >= p.hold.deadline }

// third is when to renew: at a third of the ttl, and a little earlier by chance,
// so that leases taken together are not renewed together for ever.
func third(ttl time.Duration) time.Duration { return ttl/3 - rand.N(ttl/30) }
