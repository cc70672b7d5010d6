package limits

import (
	"context"
	"errors"
	"time"

	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/figures"
	"github.com/lockgw/lockgw/bench/rig"
)

// rest shows what a gateway costs while nothing happens, and how long one takes to start.
func rest(ctx context.Context, r *rig.Rig, p rig.Plan, t *figures.Table) error {
	for _, url := range r.URLs() {
		for _, f := range []func(context.Context, *rig.Rig, rig.Plan, *figures.Table, string) error{unused, restingHolds, restingWaits} {
			if err := f(ctx, r, p, t, url); err != nil {
				return err
			}
		}
	}
	return nil
}

// unused is a gateway that nobody has used.
func unused(ctx context.Context, r *rig.Rig, p rig.Plan, t *figures.Table, url string) error {
	var times []time.Duration
	var memory, files []int64
	for range p.Starts {
		took, g, err := r.TimedStart(ctx, url)
		if err != nil {
			return err
		}
		if err := rig.Pause(ctx, p.Rest/20); err != nil { // what was put off until after the start
			return errors.Join(err, r.StopGateway(g))
		}
		m, f, err := g.Resident()
		if err := errors.Join(err, r.StopGateway(g)); err != nil {
			return err
		}
		times, memory, files = append(times, took), append(memory, m), append(files, f)
	}
	t.Note(restGroup, "a gateway that nobody uses, "+rig.Scheme(url), 0, figures.MiB(figures.Median(memory)),
		"%.1f MiB of memory, of which %.1f MiB are pages of the program's file", figures.MiB(figures.Median(memory)), figures.MiB(figures.Median(files)))
	took := figures.Median(times)
	t.Note(restGroup, "from start to ready, "+rig.Scheme(url), 0, took.Seconds()*1000, "%.0f ms, the median of %d", took.Seconds()*1000, len(times))
	return nil
}

// restingHolds are held with the usual ttl, each renewed once in ten seconds.
func restingHolds(ctx context.Context, r *rig.Rig, p rig.Plan, t *figures.Table, url string) error {
	u, used, err := resting(ctx, r, url, p.Rest, callers.Holders(p.Holds, callers.TTL))
	if err != nil {
		return err
	}
	percent := 100 * (u.Gateways + u.Redis)
	t.Note(restGroup, "locks held, ttl 30s, "+rig.Scheme(url), p.Holds, percent,
		"%.2f %% of a core: %.1f ms of the gateway in a second, %.1f ms and %.0f commands of Redis; %s",
		percent, 1000*u.Gateways, 1000*u.Redis, u.Commands, used.Each(url, p.Holds))
	return nil
}

func overSocket(int) bool { return false }

// restingWaits wait over the socket.
func restingWaits(ctx context.Context, r *rig.Rig, p rig.Plan, t *figures.Table, url string) error {
	n, err := mostSockets(p.Waits)
	if err != nil {
		return err
	}
	u, used, err := resting(ctx, r, url, p.Watch, func(ctx context.Context, g *rig.Gateway) (callers.Crew, error) {
		return callers.WaitersBy(ofMany(g.RESP), overSocket, n)(ctx, g)
	})
	if err != nil {
		return err
	}
	t.Note(restGroup, "callers wait, socket, "+rig.Scheme(url), n, figures.KiB(used.Gateway, n),
		"%s; %.1f ms of the gateway in a second, %.1f ms and %.0f commands of Redis",
		used.Each(url, n), 1000*u.Gateways, 1000*u.Redis, u.Commands)
	return nil
}

// resting has a gateway of its own keep what set gives it, for d: the work of a second, and
// what it all occupies.
func resting(ctx context.Context, r *rig.Rig, url string, d time.Duration, set func(context.Context, *rig.Gateway) (callers.Crew, error)) (u figures.Work, used rig.Sizes, err error) {
	g, err := r.Another(ctx, url)
	if err != nil {
		return u, used, err
	}
	before, err := r.Sizes(ctx, g)
	if err != nil {
		return u, used, err
	}
	c, err := set(ctx, g)
	if c.Close != nil {
		defer func() { _ = c.Close() }() // what was measured counts all the same
	}
	if err != nil {
		return u, used, err
	}
	if u, err = r.PerSecond(ctx, d); err != nil {
		return u, used, err
	}
	after, err := r.Sizes(ctx, g)
	if err != nil {
		return u, used, err
	}
	return u, after.Less(before), r.StopGateway(g)
}
