package main

import (
	"context"
	"time"
)

// solo measures round trips and pairs of lock and unlock that nobody disturbs:
// each caller has a name of its own.
func solo(ctx context.Context, r *rig, p plan, t *table) error {
	for _, n := range p.callers {
		all := append(r.trips(), r.pairs(p)...)
		c := contest{group: soloGroup, n: n, rounds: p.rounds, once: loadFor(p.slice), all: all, plain: plainName}
		if err := c.hold(ctx, r, t); err != nil {
			return err
		}
	}
	far := contest{group: farGroup, n: 1, rounds: p.rounds, once: loadFor(p.slice), plain: plainName, all: []contestant{
		{name: "Redis PING", trips: 1, open: pings("tcp", r.far)},
		{name: plainName, trips: 2, open: shared(r.far, plainPair(own, time.Second))},
		{name: "lockgw socket, redis://", trips: 2, open: socketPairs(own, r.distant)},
	}}
	return far.hold(ctx, r, t)
}

const (
	plainName     = "go-redis, SET NX + compare-and-delete"
	redislockName = "bsm/redislock"
	limitName     = "limit: Unix socket echo"
	socketName    = "lockgw socket, redis://"
)

func (r *rig) trips() []contestant {
	return []contestant{
		{name: limitName, trips: 1, open: r.echoes},
		{name: "lockgw PING", trips: 1, open: pings("unix", r.first.resp)},
		{name: "Redis PING, TCP", trips: 1, open: pings("tcp", r.addr)},
		{name: "go-redis, trivial script", trips: 1, open: shared(r.addr, scripts)},
	}
}

func (r *rig) pairs(p plan) []contestant {
	all := []contestant{
		{name: plainName, trips: 2, open: shared(r.addr, plainPair(own, time.Second))},
		{name: redislockName, trips: 2, open: shared(r.addr, redislockPair(own, time.Second))},
		{name: "lockgw's scripts, no gateway", trips: 2, open: requests(redisTable("redis://" + r.addr))},
		{name: "lockgw socket, memory://", trips: 2, open: socketPairs(own, r.memory)},
		{name: socketName, trips: 2, open: socketPairs(own, r.first)},
		{name: "lockgw HTTP, memory://", trips: 2, open: httpPairs(r.memory, own)},
		{name: "lockgw HTTP, redis://", trips: 2, open: httpPairs(r.first, own)},
	}
	if p.peers {
		all = append(all,
			contestant{name: "redsync", trips: 2, open: shared(r.addr, redsyncPair(own))},
			contestant{name: "rueidislock, 3 keys", trips: 2, open: rueidisPairs(r.addr, own)})
	}
	return all
}
