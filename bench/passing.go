package main

import (
	"context"
	"errors"
	"time"

	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/figures"
	"github.com/lockgw/lockgw/bench/peers"
	"github.com/lockgw/lockgw/bench/rig"
)

const rueidisName = "rueidislock, 3 keys"

// passing measures a lock that goes from node to node: from the sending of UNLOCK
// here to the answer to LOCK there, which waits at the store by then.
func passing(ctx context.Context, r *rig.Rig, p rig.Plan, t *figures.Table) error {
	c := callers.Contest{Group: passGroup, N: 2, Rounds: p.Rounds, Slice: p.Slice / 2, All: []callers.Contestant{
		{Name: "limit: 2 trivial scripts + 1 socket echo", Trips: 1, Open: needed(r)},
		{Name: callers.SocketName, Trips: 1, Open: func(int) (callers.Crew, error) { return callers.Passes(r.First, r.Second, p.Pass, time.Millisecond) }},
		{Name: rueidisName, Trips: 1, Open: func(int) (callers.Crew, error) { return peers.RueidisPasses(r.Addr, p.Pass, time.Millisecond) }},
	}}
	return c.Hold(ctx, r, t)
}

// needed is what a hand-off cannot do without: the release, the confirmation by
// who was woken, and one way on each of two sockets.
func needed(r *rig.Rig) func(int) (callers.Crew, error) {
	return func(int) (callers.Crew, error) {
		w, err := callers.Dial("unix", r.Echo)
		if err != nil {
			return callers.Crew{}, err
		}
		client := rig.RedisClient(r.Addr)
		request, _ := callers.LockAndUnlock(callers.One(0))
		return callers.Crew{
			Ops: []callers.Op{func() error {
				for range 2 {
					if err := peers.Trivial.Run(context.Background(), client, nil).Err(); err != nil {
						return err
					}
				}
				return w.Exchange(request, len(request))
			}},
			Close: func() error { return errors.Join(w.Close(), client.Close()) },
		}, nil
	}
}
