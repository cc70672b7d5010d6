package main

import (
	"context"
	"time"

	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/figures"
	"github.com/lockgw/lockgw/bench/peers"
	"github.com/lockgw/lockgw/bench/rig"
)

const (
	turnsName   = "limit: PING pairs, the second ones in turn"
	distantName = "lockgw socket, redis:// 1 ms away"
)

// crowd lets many callers have one name once each, all at once, with nothing to
// do while they have it: the load test of the articles about lock gateways.
func crowd(ctx context.Context, r *rig.Rig, p rig.Plan, t *figures.Table) error {
	all := []callers.Contestant{
		{Name: turnsName, Trips: 1, Open: turns(r)},
		{Name: "PING pairs, all at once", Trips: 1, Open: atOnce(r)},
		{Name: memoryName, Trips: 1, Open: callers.SocketPairs(callers.One, r.Memory)},
		{Name: callers.SocketName, Trips: 1, Open: callers.SocketPairs(callers.One, r.First)},
		{Name: distantName, Trips: 1, Open: callers.SocketPairs(callers.One, r.Distant)},
		{Name: "lockgw socket, redis://, two nodes", Trips: 1, Open: callers.SocketPairs(callers.One, r.First, r.Second)},
		{Name: "lockgw HTTP, memory://", Trips: 1, Open: callers.HTTPPairs(r.Memory, callers.One)},
		{Name: "lockgw HTTP, redis://", Trips: 1, Open: callers.HTTPPairs(r.First, callers.One)},
		{Name: plainName, Trips: 1, Open: peers.Shared(r.Addr, peers.PlainPair(callers.One, 20*time.Millisecond))},
	}
	c := callers.Contest{Group: crowdGroup, N: p.Crowd, Rounds: p.Rounds, All: all, Plain: plainName}
	if err := c.Hold(ctx, r, t); err != nil || !p.Peers {
		return err
	}
	// By themselves and less often, because each takes seconds.
	c.Group, c.Rounds, c.All = crowdGroup+", without a gateway", 2, []callers.Contestant{
		{Name: turnsName, Trips: 1, Open: turns(r)},
		{Name: plainName, Trips: 1, Open: peers.Shared(r.Addr, peers.PlainPair(callers.One, 20*time.Millisecond))},
		{Name: redislockName, Trips: 1, Open: peers.Shared(r.Addr, peers.RedislockPair(callers.One, 20*time.Millisecond))},
		{Name: "redsync", Trips: 1, Open: peers.Shared(r.Addr, peers.RedsyncPair(callers.One))},
		{Name: rueidisName, Trips: 1, Open: peers.RueidisPairs(r.Addr, callers.One)},
	}
	return c.Hold(ctx, r, t)
}

// turns are the round trips that no gateway can do without: each connection sends
// a PING as long as its LOCK, all at once, and then, one connection after the
// other, a PING as long as its UNLOCK.
func turns(r *rig.Rig) func(n int) (callers.Crew, error) {
	return func(n int) (callers.Crew, error) {
		mine := make([]chan struct{}, n)
		for i := range mine {
			mine[i] = make(chan struct{}, 1)
		}
		mine[0] <- struct{}{}
		return pingPairs(r, n, func(i int) { <-mine[i] }, func(i int) { mine[(i+1)%n] <- struct{}{} })
	}
}

// atOnce is turns without an order.
func atOnce(r *rig.Rig) func(n int) (callers.Crew, error) {
	return func(n int) (callers.Crew, error) { return pingPairs(r, n, func(int) {}, func(int) {}) }
}

func pingPairs(r *rig.Rig, n int, before, after func(i int)) (callers.Crew, error) {
	return callers.Connected(n, "unix", r.First.RESP, func(i int, w *callers.Wire) (callers.Op, error) {
		lock, unlock := callers.LockAndUnlock(callers.One(i))
		first, size1 := callers.PingLike(lock)
		second, size2 := callers.PingLike(unlock)
		return func() error {
			err := w.Exchange(first, size1)
			before(i)
			defer after(i) // whatever came of it: the others wait
			if err != nil {
				return err
			}
			return w.Exchange(second, size2)
		}, nil
	})
}
