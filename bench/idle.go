package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockgw/lockgw/socket/client"
)

// Many locks are held by connections of so many each, for which this is the ttl.
const (
	holdsEach = 1000
	shortTTL  = 3 * time.Second
)

// scene is a gateway that has much to keep and nothing to do.
type scene struct {
	what string
	url  string // of the store
	n    int    // holds or callers
	set  func(ctx context.Context, g *gateway) (crew, error)
}

// idle shows what held locks and waiting callers cost while nothing happens.
func idle(ctx context.Context, r *rig, p plan, t *table) error {
	var scenes []scene
	for _, url := range []string{"memory://", "redis://" + r.addr} {
		scenes = append(scenes,
			scene{fmt.Sprintf("locks held, ttl %v, %s", shortTTL, scheme(url)), url, p.holds, holders(p.holds, shortTTL)},
			scene{"callers wait, socket, " + scheme(url), url, min(p.waits, mostConns), waiters(false, min(p.waits, mostConns))},
			scene{"callers wait, HTTP, " + scheme(url), url, p.waits, waiters(true, p.waits)})
	}
	for _, s := range scenes {
		if err := r.show(ctx, t, s, p.watch); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	return nil
}

// holders take n locks.
func holders(n int, ttl time.Duration) func(context.Context, *gateway) (crew, error) {
	return func(_ context.Context, g *gateway) (crew, error) {
		c, err := connected((n+holdsEach-1)/holdsEach, "unix", g.resp, func(i int, w *wire) (op, error) {
			return func() error { return w.lockMany(heldBy(i), min(holdsEach, n-i*holdsEach), ttl) }, nil
		})
		if err != nil {
			return c, err
		}
		_, err = load(c, 0)
		return c, err
	}
}

// heldBy is how the names begin that connection i holds; a number follows.
func heldBy(i int) string { return "held" + strconv.Itoa(i) + ":" }

func (w *wire) lockMany(prefix string, n int, ttl time.Duration) error {
	seconds := strconv.FormatFloat(ttl.Seconds(), 'f', -1, 64)
	for i := range n {
		if err := w.ask(encode("LOCK", prefix+strconv.Itoa(i), "TTL", seconds)); err != nil {
			return err
		}
	}
	return nil
}

// One user may have little more than so many connections to resp.sock. Each name
// has so many callers.
const (
	mostConns = 4000
	waitsEach = 1000
)

// waiters are n callers that wait for names which one more caller holds.
func waiters(web bool, n int) func(context.Context, *gateway) (crew, error) {
	return func(ctx context.Context, g *gateway) (crew, error) {
		path := g.resp
		if web {
			path = g.http
		}
		return waitersBy(func(int) (*wire, error) { return dial("unix", path) }, func(int) bool { return web }, n)(ctx, g)
	}
}

// waitersBy are waiters with connections of the caller's making, some of which may speak HTTP.
// What each of the crew does is to take its turn, for which the holder has to let go.
func waitersBy(dial func(i int) (*wire, error), web func(i int) bool, n int) func(context.Context, *gateway) (crew, error) {
	return func(ctx context.Context, g *gateway) (crew, error) {
		holder, err := client.Dial(ctx, g.resp, client.Options{})
		if err != nil {
			return crew{}, err
		}
		for i := 0; i < n; i += waitsEach {
			if _, err := holder.Lock(ctx, g.waited(i), client.LockOptions{}); err != nil {
				return crew{close: holder.Close}, err
			}
		}
		c, err := connectedBy(dial, n, func(i int, w *wire) (op, error) {
			ask := encode("LOCK", g.waited(i), "WAIT", "300")
			if web(i) {
				ask = request("PUT", "/v1/locks/"+g.waited(i)+"?wait=5m", "", "")
			}
			_, err := w.Write(ask)
			return func() error { return w.turn(web(i), g.waited(i)) }, err
		})
		if err != nil {
			return crew{close: holder.Close}, err
		}
		all := joined([]crew{c, {close: holder.Close}})
		all.letGo = func() error {
			for i := 0; i < n; i += waitsEach {
				if _, err := holder.Unlock(ctx, g.waited(i), client.UnlockOptions{}); err != nil {
					return err
				}
			}
			return nil
		}
		return all, g.awaitQueue(ctx, holder, n)
	}
}

// turn reads that the name is granted, and gives it back.
func (w *wire) turn(web bool, name string) error {
	if !web {
		if err := w.answered(); err != nil {
			return err
		}
		return w.ask(encode("UNLOCK", name))
	}
	body, err := w.read()
	if err != nil {
		return err
	}
	token, err := tokenOf(body)
	if err != nil {
		return err
	}
	_, err = w.fetch(request("DELETE", "/v1/locks/"+name, token, ""))
	return err
}

func (g *gateway) waited(i int) string { return g.Name + "-" + strconv.Itoa(i/waitsEach) }

// awaitQueue waits until so many callers stand in the queues, one after the other: what is
// long to tell is told as rarely as can be.
func (g *gateway) awaitQueue(ctx context.Context, c *client.Client, n int) error {
	for i := 0; i < n; i += waitsEach {
		if err := awaitWaiters(ctx, c, g.waited(i), min(waitsEach, n-i)); err != nil {
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

func scheme(url string) string { return url[:strings.Index(url, "//")+2] }

// show starts a gateway for s, and adds a row of what that costs: memory at once,
// the rest over d.
func (r *rig) show(ctx context.Context, t *table, s scene, d time.Duration) error {
	r.started++
	g, err := r.startGateway(ctx, "idle"+strconv.Itoa(r.started), s.url)
	if err != nil {
		return err
	}
	before, err := g.memory()
	if err != nil {
		return err
	}
	c, err := s.set(ctx, g)
	if c.close != nil {
		defer c.close()
	}
	if err != nil {
		return err
	}
	u, err := r.perSecond(ctx, d)
	if err != nil {
		return err
	}
	after, err := g.memory()
	if err != nil {
		return err
	}
	t.add([]*row{{group: idleGroup, name: s.what, callers: s.n, note: fmt.Sprintf(
		"%.1f KB of the gateway each; in a second %.0f ms of its processor time, %.0f ms of Redis', %.0f Redis commands",
		float64(after-before)/1024/float64(s.n), 1000*u.gateways, 1000*u.redis, u.commands)}}, "")
	return r.stopGateway(g)
}

// perSecond is the work of each second of the next d.
func (r *rig) perSecond(ctx context.Context, d time.Duration) (work, error) {
	began := time.Now()
	before, err := r.work(ctx)
	if err != nil {
		return work{}, err
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return work{}, ctx.Err()
	}
	after, err := r.work(ctx)
	return after.subtract(before).per(time.Since(began).Seconds()), err
}
