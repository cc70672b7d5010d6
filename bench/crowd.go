package main

import (
	"context"
	"time"
)

const (
	turnsName   = "limit: PING pairs, the second ones in turn"
	distantName = "lockgw socket, redis:// 1 ms away"
)

// crowd lets many callers have one name once each, all at once, with nothing to
// do while they have it: the load test of the articles about lock gateways.
func crowd(ctx context.Context, r *rig, p plan, t *table) error {
	all := []contestant{
		{name: turnsName, trips: 1, open: r.turns},
		{name: "PING pairs, all at once", trips: 1, open: r.together},
		{name: "lockgw socket, memory://", trips: 1, open: socketPairs(one, r.memory)},
		{name: socketName, trips: 1, open: socketPairs(one, r.first)},
		{name: distantName, trips: 1, open: socketPairs(one, r.distant)},
		{name: "lockgw socket, redis://, two nodes", trips: 1, open: socketPairs(one, r.first, r.second)},
		{name: "lockgw HTTP, memory://", trips: 1, open: httpPairs(r.memory, one)},
		{name: "lockgw HTTP, redis://", trips: 1, open: httpPairs(r.first, one)},
		{name: plainName, trips: 1, open: shared(r.addr, plainPair(one, 20*time.Millisecond))},
	}
	c := contest{group: crowdGroup, n: p.crowd, rounds: p.rounds, once: loadFor(0), all: all, plain: plainName}
	if err := c.hold(ctx, r, t); err != nil || !p.peers {
		return err
	}
	// By themselves and less often, because each takes seconds.
	c.group, c.rounds, c.all = crowdGroup+", without a gateway", 2, []contestant{
		{name: turnsName, trips: 1, open: r.turns},
		{name: plainName, trips: 1, open: shared(r.addr, plainPair(one, 20*time.Millisecond))},
		{name: redislockName, trips: 1, open: shared(r.addr, redislockPair(one, 20*time.Millisecond))},
		{name: "redsync", trips: 1, open: shared(r.addr, redsyncPair(one))},
		{name: "rueidislock, 3 keys", trips: 1, open: rueidisPairs(r.addr, one)},
	}
	return c.hold(ctx, r, t)
}

// turns are the round trips that no gateway can do without: each connection sends
// a PING as long as its LOCK, all at once, and then, one connection after the
// other, a PING as long as its UNLOCK.
func (r *rig) turns(n int) (crew, error) {
	mine := make([]chan struct{}, n)
	for i := range mine {
		mine[i] = make(chan struct{}, 1)
	}
	mine[0] <- struct{}{}
	return r.pingPairs(n, func(i int) { <-mine[i] }, func(i int) { mine[(i+1)%n] <- struct{}{} })
}

// together is turns without an order.
func (r *rig) together(n int) (crew, error) { return r.pingPairs(n, func(int) {}, func(int) {}) }

func (r *rig) pingPairs(n int, before, after func(i int)) (crew, error) {
	return connected(n, "unix", r.first.resp, func(i int, w *wire) (op, error) {
		lock, unlock := lockAndUnlock(one(i))
		first, size1 := pingLike(lock)
		second, size2 := pingLike(unlock)
		return func() error {
			err := w.exchange(first, size1)
			before(i)
			defer after(i) // whatever came of it: the others wait
			if err != nil {
				return err
			}
			return w.exchange(second, size2)
		}, nil
	})
}
