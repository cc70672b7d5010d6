package redlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/boottime"
)

const (
	tries = 3 // of an acquire that fails for nobody's hold, but for several asking at once
	// sharedTries: many who may all have the name ask at once, each above the fences of
	// the others; or a permit that is free has to be found.
	sharedTries = 10
	// calm is when to ask again for a name of which nobody has a majority, if no
	// message comes before.
	calm = 500 * time.Millisecond
)

// Acquire implements backend.Backend. Queued means that the sender has left a mark,
// by which a release tells it to ask again: there is no queue.
func (b *Backend) Acquire(ctx context.Context, r backend.Request) (backend.Answer, error) {
	if r.TTL > b.maxTTL {
		return backend.Answer{}, b.tooLong(r.TTL)
	}
	if err := spent(ballot(r), r); err != nil {
		return backend.Answer{}, err
	}
	b.await(r)
	last, permit := tries, ""
	if r.Mode != backend.Exclusive {
		last = sharedTries
	}
	if n := r.Mode.Limit(); n > 0 {
		permit = strconv.Itoa(rand.N(n))
	}
	for try := 1; ; try++ {
		a, next, err := b.elect(ctx, r, permit)
		if err != nil || a.Granted || !next.worth || try == last {
			return b.waiting(r, a, err)
		}
		if next.permit != "" && next.permit != permit {
			permit = next.permit
			continue
		}
		select {
		case <-ctx.Done():
			return b.waiting(r, a, nil)
		case <-time.After(time.Duration(try) * (2*time.Millisecond + rand.N(8*time.Millisecond))):
		}
	}
}

// waiting is the answer to one who was not granted the name, perhaps.
func (b *Backend) waiting(r backend.Request, a backend.Answer, err error) (backend.Answer, error) {
	switch {
	case errors.Is(err, backend.ErrRefused):
		b.unawait(r) // it may be sent again
		return a, err
	case err != nil && !errors.Is(err, backend.ErrUnavailable):
		b.forget(r)
		return a, err
	case err != nil || a.Granted:
		return a, err
	case !r.Queue:
		b.forget(r)
		return a, backend.ErrHeld
	}
	a.Queued = true
	b.watch(r, a.Holder.Foreign)
	return a, nil
}

// another election may end otherwise, with that permit of a semaphore.
type another struct {
	worth  bool
	permit string
}

// elect asks for the name once, with a second ballot if the first was too low.
func (b *Backend) elect(ctx context.Context, r backend.Request, permit string) (a backend.Answer, next another, err error) {
	began := boottime.Now()
	r.Attempt, r.Count = r.Seq, 1
	o := b.firstBallot(r, permit)
	for {
		o.Turn = o.ballot
		e := &election{b.ask(ctx, acquireScript, b.message(o), elected(o.ballot)), o.ballot}
		if a, ok := e.winner(); ok {
			b.note(o.Request, a, o.permit, began)
			return a, another{}, nil
		}
		if !o.force && ctx.Err() == nil && e.count("stale") == 0 && e.promising() >= b.quorum() {
			if o.ballot, o.force = b.propose(r, e.top()+1), true; spent(o.ballot, r) == nil {
				continue
			}
		}
		a, next, err = e.refusal()
		if !errors.Is(err, backend.ErrUnavailable) || ctx.Err() == nil {
			b.undo(ctx, o, e.round)
		}
		return a, next, err
	}
}

// firstBallot is that of the hold, if r asks again for what it was granted: a node
// that did not hear of it then has the same fence as the others.
func (b *Backend) firstBallot(r backend.Request, permit string) order {
	b.mu.Lock()
	h := b.holds[placeOf(r)]
	b.mu.Unlock()
	if h != nil && h.seq == r.Seq && h.first > r.Floor {
		return order{Request: r, ballot: h.first, permit: h.permit}
	}
	return order{Request: r, ballot: b.propose(r, 0), permit: permit}
}

// undo takes back what the nodes have accepted for nothing, on all of them: one
// whose answer is missing may have accepted, too. It waits for those who said so.
func (b *Backend) undo(ctx context.Context, o order, r *round) {
	if len(r.votes) == len(b.nodes) && r.count("granted") == 0 && !slices.ContainsFunc(r.votes, func(v vote) bool { return v.err != nil }) {
		return
	}
	o.Hold, o.Delay, o.force = o.ballot, 0, true
	b.drop(o.Request)
	m, left := b.message(o), r.count("granted")
	send := func(ctx context.Context) {
		b.each(ctx, func(ctx context.Context, n *node) vote { return n.run(ctx, cancelScript, m) }, func(v vote) bool {
			if v.err == nil {
				left--
			}
			return left <= 0
		})
	}
	if ctx.Err() == nil {
		send(ctx)
		return
	}
	b.start(func() { send(context.WithoutCancel(ctx)) }) // who asked may never ask again
}
