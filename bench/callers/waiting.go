package callers

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/lockgw/lockgw/bench/rig"
	"github.com/lockgw/lockgw/socket/client"
)

// Many locks are held by connections of so many each, for which this is the ttl.
const (
	HoldsEach = 1000
	ShortTTL  = 3 * time.Second
)

// One user may have little more than so many connections to resp.sock. Each name
// has so many callers.
const (
	MostConns = 4000
	waitsEach = 1000
)

// Holders take n locks.
func Holders(n int, ttl time.Duration) func(context.Context, *rig.Gateway) (Crew, error) {
	return func(_ context.Context, g *rig.Gateway) (Crew, error) {
		c, err := Connected((n+HoldsEach-1)/HoldsEach, "unix", g.RESP, func(i int, w *Wire) (Op, error) {
			return func() error { return w.lockMany(HeldBy(i), min(HoldsEach, n-i*HoldsEach), ttl) }, nil
		})
		if err != nil {
			return c, err
		}
		_, err = Load(c, 0)
		return c, err
	}
}

// HeldBy is how the names begin that connection i holds; a number follows.
func HeldBy(i int) string { return "held" + strconv.Itoa(i) + ":" }

func (w *Wire) lockMany(prefix string, n int, ttl time.Duration) error {
	seconds := strconv.FormatFloat(ttl.Seconds(), 'f', -1, 64)
	for i := range n {
		if err := w.Ask(Encode("LOCK", prefix+strconv.Itoa(i), "TTL", seconds)); err != nil {
			return err
		}
	}
	return nil
}

// Waiters are n callers that wait for names which one more caller holds.
func Waiters(web bool, n int) func(context.Context, *rig.Gateway) (Crew, error) {
	return func(ctx context.Context, g *rig.Gateway) (Crew, error) {
		path := g.RESP
		if web {
			path = g.HTTP
		}
		return WaitersBy(func(int) (*Wire, error) { return Dial("unix", path) }, func(int) bool { return web }, n)(ctx, g)
	}
}

// WaitersBy are waiters with connections of the caller's making, some of which may speak HTTP.
// What each of the crew does is to take its turn, for which the holder has to let go.
func WaitersBy(dial func(i int) (*Wire, error), web func(i int) bool, n int) func(context.Context, *rig.Gateway) (Crew, error) {
	return func(ctx context.Context, g *rig.Gateway) (Crew, error) {
		holder, err := client.Dial(ctx, g.RESP, client.Options{})
		if err != nil {
			return Crew{}, err
		}
		for i := 0; i < n; i += waitsEach {
			if _, err := holder.Lock(ctx, waited(g, i), client.LockOptions{}); err != nil {
				return Crew{Close: holder.Close}, err
			}
		}
		c, err := ConnectedBy(dial, n, func(i int, w *Wire) (Op, error) {
			ask := Encode("LOCK", waited(g, i), "WAIT", "300")
			if web(i) {
				ask = Request("PUT", "/v1/locks/"+waited(g, i)+"?wait=5m", "", "")
			}
			_, err := w.Write(ask)
			return func() error { return w.turn(web(i), waited(g, i)) }, err
		})
		if err != nil {
			return Crew{Close: holder.Close}, err
		}
		all := joined([]Crew{c, {Close: holder.Close}})
		all.LetGo = func() error {
			for i := 0; i < n; i += waitsEach {
				if _, err := holder.Unlock(ctx, waited(g, i), client.UnlockOptions{}); err != nil {
					return err
				}
			}
			return nil
		}
		return all, awaitQueue(ctx, g, holder, n)
	}
}

// turn reads that the name is granted, and gives it back.
func (w *Wire) turn(web bool, name string) error {
	if !web {
		if err := w.Answered(); err != nil {
			return err
		}
		return w.Ask(Encode("UNLOCK", name))
	}
	body, err := w.Response()
	if err != nil {
		return err
	}
	token, err := tokenOf(body)
	if err != nil {
		return err
	}
	_, err = w.Fetch(Request("DELETE", "/v1/locks/"+name, token, ""))
	return err
}

func waited(g *rig.Gateway, i int) string { return g.Name + "-" + strconv.Itoa(i/waitsEach) }

// awaitQueue waits until so many callers stand in the queues, one after the other: what is
// long to tell is told as rarely as can be.
func awaitQueue(ctx context.Context, g *rig.Gateway, c *client.Client, n int) error {
	for i := 0; i < n; i += waitsEach {
		if err := awaitWaiters(ctx, c, waited(g, i), min(waitsEach, n-i)); err != nil {
			return err
		}
	}
	return nil
}

func awaitWaiters(ctx context.Context, c *client.Client, name string, n int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := c.Info(ctx, name)
		if err != nil {
			return fmt.Errorf("ask who waits for %s: %w", name, err)
		}
		if len(s.Queue) == n {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d callers wait for %s: %w", len(s.Queue), n, name, ctx.Err())
		}
	}
}

// TTL is that of all locks that say no other.
const TTL = 30 * time.Second
