package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"time"
)

// rest shows what a gateway costs while nothing happens, and how long one takes to start.
func rest(ctx context.Context, r *rig, p plan, t *table) error {
	for _, url := range r.urls() {
		for _, f := range []func(context.Context, *rig, plan, *table, string) error{unused, restingHolds, restingWaits} {
			if err := f(ctx, r, p, t, url); err != nil {
				return err
			}
		}
	}
	return nil
}

// unused is a gateway that nobody has used.
func unused(ctx context.Context, r *rig, p plan, t *table, url string) error {
	var times []time.Duration
	var memory, files []int64
	for range p.starts {
		took, g, err := r.timedStart(ctx, url)
		if err != nil {
			return err
		}
		if err := pause(ctx, p.rest/20); err != nil { // what was put off until after the start
			return errors.Join(err, r.stopGateway(g))
		}
		m, f, err := g.resident()
		if err := errors.Join(err, r.stopGateway(g)); err != nil {
			return err
		}
		times, memory, files = append(times, took), append(memory, m), append(files, f)
	}
	t.note(restGroup, "a gateway that nobody uses, "+scheme(url), 0, mib(median(memory)),
		"%.1f MiB of memory, of which %.1f MiB are pages of the program's file", mib(median(memory)), mib(median(files)))
	took := median(times)
	t.note(restGroup, "from start to ready, "+scheme(url), 0, took.Seconds()*1000, "%.0f ms, the median of %d", took.Seconds()*1000, len(times))
	return nil
}

// timedStart starts a gateway and says how long it took until /readyz was 200.
func (r *rig) timedStart(ctx context.Context, url string) (took time.Duration, g *gateway, err error) {
	r.started++
	name := "start" + strconv.Itoa(r.started)
	g, args, err := r.prepare(name, url)
	if err != nil {
		return 0, nil, err
	}
	began := time.Now()
	// It asks each millisecond for a while, and then lets the process be looked at.
	ready := func(ctx context.Context) (err error) {
		for range 1000 {
			if err = isReady(ctx, g.http); err == nil {
				took = time.Since(began)
				return nil
			}
			if err := pause(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		return err
	}
	g.process, err = startAs(ctx, r.dir, name, ready, exec.Command(r.lockgw, args...), nil)
	if err != nil {
		return 0, nil, err
	}
	r.servers = append(r.servers, g.process)
	return took, g, nil
}

func isReady(ctx context.Context, path string) error {
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://lockgw/readyz", nil)
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("readyz is %d", answer.StatusCode)
	}
	return nil
}

// restingHolds are held with the usual ttl, each renewed once in ten seconds.
func restingHolds(ctx context.Context, r *rig, p plan, t *table, url string) error {
	g, err := r.another(ctx, url)
	if err != nil {
		return err
	}
	before, err := r.sizes(ctx, g)
	if err != nil {
		return err
	}
	c, err := holders(p.holds, ttl)(ctx, g)
	if c.close != nil {
		defer func() { _ = c.close() }() // what was measured counts all the same
	}
	if err != nil {
		return err
	}
	u, err := r.perSecond(ctx, p.rest)
	if err != nil {
		return err
	}
	after, err := r.sizes(ctx, g)
	if err != nil {
		return err
	}
	percent := 100 * (u.gateways + u.redis)
	t.note(restGroup, "locks held, ttl 30s, "+scheme(url), p.holds, percent,
		"%.2f %% of a core: %.1f ms of the gateway in a second, %.1f ms and %.0f commands of Redis; %s",
		percent, 1000*u.gateways, 1000*u.redis, u.commands, after.less(before).each(url, p.holds))
	return r.stopGateway(g)
}

func overSocket(int) bool { return false }

// restingWaits wait over the socket.
func restingWaits(ctx context.Context, r *rig, p plan, t *table, url string) error {
	n, err := mostSockets(p.waits)
	if err != nil {
		return err
	}
	g, err := r.another(ctx, url)
	if err != nil {
		return err
	}
	before, err := r.sizes(ctx, g)
	if err != nil {
		return err
	}
	c, err := waitersBy(ofMany(g.resp), overSocket, n)(ctx, g)
	if c.close != nil {
		defer func() { _ = c.close() }() // what was measured counts all the same
	}
	if err != nil {
		return err
	}
	u, err := r.perSecond(ctx, p.watch)
	if err != nil {
		return err
	}
	after, err := r.sizes(ctx, g)
	if err != nil {
		return err
	}
	d := after.less(before)
	t.note(restGroup, "callers wait, socket, "+scheme(url), n, kib(d.gateway, n),
		"%s; %.1f ms of the gateway in a second, %.1f ms and %.0f commands of Redis",
		d.each(url, n), 1000*u.gateways, 1000*u.redis, u.commands)
	return r.stopGateway(g)
}

// sizeOf is how many bytes the files under a directory have; 0 where there is none.
func sizeOf(dir fs.FS, root string) (n int64, err error) {
	err = fs.WalkDir(dir, root, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return gone(err)
		}
		info, err := e.Info()
		if err == nil {
			n += info.Size()
		}
		return gone(err)
	})
	return n, err
}

// gone: files come and go meanwhile.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
