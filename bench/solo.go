package main

import (
	"context"
	"time"

	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/figures"
	"github.com/lockgw/lockgw/bench/peers"
	"github.com/lockgw/lockgw/bench/rig"
	"github.com/lockgw/lockgw/bench/stores"
)

// solo measures round trips and pairs of lock and unlock that nobody disturbs:
// each caller has a name of its own.
func solo(ctx context.Context, r *rig.Rig, p rig.Plan, t *figures.Table) error {
	for _, n := range p.Callers {
		all := append(trips(r), pairs(r, p)...)
		c := callers.Contest{Group: soloGroup, N: n, Rounds: p.Rounds, Slice: p.Slice, All: all, Plain: plainName}
		if err := c.Hold(ctx, r, t); err != nil {
			return err
		}
	}
	far := callers.Contest{Group: farGroup, N: 1, Rounds: p.Rounds, Slice: p.Slice, Plain: plainName, All: []callers.Contestant{
		{Name: "Redis PING", Trips: 1, Open: callers.Pings("tcp", r.Far)},
		{Name: plainName, Trips: 2, Open: peers.Shared(r.Far, peers.PlainPair(callers.Own, time.Second))},
		{Name: "lockgw socket, redis://", Trips: 2, Open: callers.SocketPairs(callers.Own, r.Distant)},
	}}
	return far.Hold(ctx, r, t)
}

const (
	plainName     = "go-redis, SET NX + compare-and-delete"
	redislockName = "bsm/redislock"
	limitName     = "limit: Unix socket echo"
	webName       = "limit: a trivial gin request"
	pingName      = "lockgw PING"
	memoryName    = "lockgw socket, memory://"
	httpName      = "lockgw HTTP, redis://"
	keptName      = "lockgw socket, redis://, retain 1s"
)

func trips(r *rig.Rig) []callers.Contestant {
	return []callers.Contestant{
		{Name: limitName, Trips: 1, Open: callers.Echoes(r.Echo)},
		{Name: webName, Trips: 1, Open: callers.Fetches(r.Web)},
		{Name: pingName, Trips: 1, Open: callers.Pings("unix", r.First.RESP)},
		{Name: "Redis PING, TCP", Trips: 1, Open: callers.Pings("tcp", r.Addr)},
		{Name: "go-redis, trivial script", Trips: 1, Open: peers.Shared(r.Addr, peers.Scripts)},
	}
}

func pairs(r *rig.Rig, p rig.Plan) []callers.Contestant {
	all := []callers.Contestant{
		{Name: plainName, Trips: 2, Open: peers.Shared(r.Addr, peers.PlainPair(callers.Own, time.Second))},
		{Name: redislockName, Trips: 2, Open: peers.Shared(r.Addr, peers.RedislockPair(callers.Own, time.Second))},
		{Name: "lockgw's scripts, no gateway", Trips: 2, Open: stores.Requests(stores.RedisTable("redis://" + r.Addr))},
		{Name: memoryName, Trips: 2, Open: callers.SocketPairs(callers.Own, r.Memory)},
		{Name: callers.SocketName, Trips: 2, Open: callers.SocketPairs(callers.Own, r.First)},
		{Name: keptName, Trips: 2, Open: callers.SocketPairs(callers.Kept, r.Keeper)},
		{Name: "lockgw HTTP, memory://", Trips: 2, Open: callers.HTTPPairs(r.Memory, callers.Own)},
		{Name: httpName, Trips: 2, Open: callers.HTTPPairs(r.First, callers.Own)},
	}
	if p.Peers {
		all = append(all,
			callers.Contestant{Name: "redsync", Trips: 2, Open: peers.Shared(r.Addr, peers.RedsyncPair(callers.Own))},
			callers.Contestant{Name: rueidisName, Trips: 2, Open: peers.RueidisPairs(r.Addr, callers.Own)})
	}
	return all
}
