package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/figures"
	"github.com/lockgw/lockgw/bench/rig"
)

// scene is a gateway that has much to keep and nothing to do.
type scene struct {
	what string
	url  string // of the store
	n    int    // holds or callers
	set  func(ctx context.Context, g *rig.Gateway) (callers.Crew, error)
}

// idle shows what held locks and waiting callers cost while nothing happens.
func idle(ctx context.Context, r *rig.Rig, p rig.Plan, t *figures.Table) error {
	var scenes []scene
	for _, url := range []string{"memory://", "redis://" + r.Addr} {
		scenes = append(scenes,
			scene{fmt.Sprintf("locks held, ttl %v, %s", callers.ShortTTL, rig.Scheme(url)), url, p.Holds, callers.Holders(p.Holds, callers.ShortTTL)},
			scene{"callers wait, socket, " + rig.Scheme(url), url, min(p.Waits, callers.MostConns), callers.Waiters(false, min(p.Waits, callers.MostConns))},
			scene{"callers wait, HTTP, " + rig.Scheme(url), url, p.Waits, callers.Waiters(true, p.Waits)})
	}
	for _, s := range scenes {
		if err := show(ctx, r, t, s, p.Watch); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	return nil
}

// show starts a gateway for s, and adds a row of what that costs: memory at once,
// the rest over d.
func show(ctx context.Context, r *rig.Rig, t *figures.Table, s scene, d time.Duration) error {
	r.Started++
	g, err := r.StartGateway(ctx, "idle"+strconv.Itoa(r.Started), s.url)
	if err != nil {
		return err
	}
	before, err := g.Memory()
	if err != nil {
		return err
	}
	c, err := s.set(ctx, g)
	if c.Close != nil {
		defer func() { _ = c.Close() }() // what was measured counts all the same
	}
	if err != nil {
		return err
	}
	u, err := r.PerSecond(ctx, d)
	if err != nil {
		return err
	}
	after, err := g.Memory()
	if err != nil {
		return err
	}
	t.Add([]*figures.Row{{Group: idleGroup, Name: s.what, Callers: s.n, Note: fmt.Sprintf(
		"%.1f KB of the gateway each; in a second %.0f ms of its processor time, %.0f ms of Redis', %.0f Redis commands",
		float64(after-before)/1024/float64(s.n), 1000*u.Gateways, 1000*u.Redis, u.Commands)}}, "")
	return r.StopGateway(g)
}
