package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/quorum"
)

// leases are those of etcd under which this process holds: one for all holds with about the
// same ttl. A lease for each hold would cost two durable writes each; so a node renews
// whatever it holds with one request that writes nothing.
//
// A lease is kept alive by renewals and writes, never by itself: once the last hold that
// needs it is given back or lost, it expires, and so it does if the process dies.
type leases struct {
	t *Table

	mu sync.Mutex // guards the field below
	of map[time.Duration]*lease
}

// lease is kept under the ttl that classOf gives.
type lease struct {
	turn // guards the fields below, and is kept while etcd is asked
	id   clientv3.LeaseID
	// ttl is what etcd has granted: its members may want more than was asked for.
	ttl time.Duration
	// until is when it expires at the earliest.
	until time.Duration
	// known: the key of the lease has been there. Until then the first write makes it.
	known bool
}

// classOf is how long the lease lasts under which a hold of ttl is: a tenth longer, and a
// second at least, so that not every write has to keep it alive first; and rounded up to
// two digits, so that there are few.
func classOf(ttl time.Duration) time.Duration {
	d := max(ttl+ttl/10, ttl+time.Second) + time.Second - 1
	seconds, unit := int64(d/time.Second), int64(1)
	for seconds > 100*unit {
		unit *= 10
	}
	return time.Duration((seconds+unit-1)/unit*unit) * time.Second
}

// held is a lease as it was when a hold was put under it.
type held struct {
	l     *lease
	id    clientv3.LeaseID
	known bool
}

// take gives a lease that lasts for ttl from now on at least.
func (ls *leases) take(ctx context.Context, c *clientv3.Client, ttl time.Duration) (held, error) {
	class := classOf(ttl)
	ls.mu.Lock()
	l := ls.of[class]
	if l == nil {
		if ls.of == nil {
			ls.of = map[time.Duration]*lease{}
		}
		l = &lease{turn: newTurn()}
		ls.of[class] = l
	}
	ls.mu.Unlock()
	if err := l.turn.take(ctx); err != nil {
		return held{}, err
	}
	defer l.end()
	begin := now()
	if l.id != 0 && l.until < begin+ttl {
		if err := l.keep(ctx, ls.t); err != nil && !errors.Is(err, backend.ErrNotHeld) {
			return held{}, err
		}
	}
	if l.id == 0 {
		r, err := c.Grant(ctx, int64(class/time.Second))
		if err != nil {
			return held{}, quorum.Unasked(outcome(ctx, err))
		}
		l.id, l.ttl, l.known = r.ID, time.Duration(r.TTL)*time.Second, false
		l.until = begin + l.ttl
	}
	if l.until < now()+ttl { // etcd was slow
		return held{}, fmt.Errorf("%w: etcd took too long to prolong a lease", backend.ErrRefused)
	}
	return held{l, l.id, l.known}, nil
}

// keep has the lease last for its ttl from now on. backend.ErrNotHeld: it has expired.
func (l *lease) keep(ctx context.Context, t *Table) error {
	begin := now()
	ttl, err := t.link.keepAlive(ctx, l.id)
	switch {
	case errors.Is(err, backend.ErrNotHeld):
		l.id = 0
		return err
	case err != nil:
		return quorum.Unasked(err)
	}
	l.ttl, l.until = ttl, max(l.until, begin+ttl)
	return nil
}

// made: the key of h was written, if it was not there.
func (h held) made() {
	if !h.known { // else nobody has to wait for who asks etcd about the lease just now
		h.note(func(l *lease) { l.known = true })
	}
}

// gone: the key of h is not there any more, or etcd does not know the lease.
func (h held) gone() { h.note(func(l *lease) { l.id = 0 }) }

// note notes something of the lease, unless another one is in its place by now, or there is none.
func (h held) note(f func(*lease)) {
	if h.l == nil {
		return
	}
	_ = h.l.turn.take(context.Background()) // that does not end
	defer h.l.end()
	if h.l.id == h.id {
		f(h.l)
	}
}
