package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// What of its descriptors a gateway keeps for its store and itself, and what this
// process needs for other things.
const reservedFiles = 2000

// One user may have 4,096 connections to resp.sock, all users together 16,384; and nobody
// more than are left for all others.
const (
	userSockets = 500
	allSockets  = 16_000
)

// mostSockets is how many of n callers over the socket there can be at once.
func mostSockets(n int) (int, error) {
	files, err := openFiles()
	n = min(n, allSockets, max(files-reservedFiles, 10))
	if !severalUsers() {
		n = min(n, mostConns)
	}
	return n, err
}

// ofMany dials a socket as one user after the other, each as often as it may.
func ofMany(path string) func(i int) (*wire, error) {
	if !severalUsers() {
		return func(int) (*wire, error) { return dial("unix", path) }
	}
	var users []*dialer
	return func(i int) (*wire, error) {
		for len(users) <= i/userSockets {
			users = append(users, newDialer(otherUser+len(users)))
		}
		return users[i/userSockets].dial(path)
	}
}

// crowded is a gateway that has as much of something as it may have.
type crowded struct {
	what  string
	n     int
	begin func(ctx context.Context, g *gateway) (settled, error)
}

// settled is what a gateway was made to keep.
type settled struct {
	said  string              // how many, and why not more
	check func() (int, error) // ends it all, and says how much of it was still there
	close func() error
}

// many shows what a gateway costs that has many holds, sessions and waiters, and what a
// healthy caller notices of it. Whatever is lost meanwhile is an error.
func many(ctx context.Context, r *rig, p plan, t *table) error {
	sockets, web, why, err := shareOut(p.crowds)
	if err != nil {
		return err
	}
	for _, url := range r.urls() {
		for _, s := range []crowded{
			{"names held", p.many, manyHolds(p.many)},
			{"sessions", p.many, manySessions(p.many)},
			{"callers wait, socket", sockets, manyWaits(sockets, 0, why)},
			{"callers wait, socket and HTTP", sockets + web, manyWaits(sockets, web, why)},
		} {
			if err := r.bear(ctx, t, s, url, p.slice*10); err != nil {
				return fmt.Errorf("%d %s, %s: %w", s.n, s.what, scheme(url), err)
			}
		}
	}
	return nil
}

// shareOut divides callers between the socket and HTTP.
func shareOut(n int) (sockets, web int, why string, err error) {
	files, err := openFiles()
	if err != nil {
		return 0, 0, "", err
	}
	if sockets, err = mostSockets(n); err != nil {
		return 0, 0, "", err
	}
	if web = min(n, max(files-reservedFiles, sockets)) - sockets; sockets+web < n {
		why = fmt.Sprintf(" (not %d: a process may have %d open files here)", n, files)
	}
	return sockets, web, why, nil
}

// bear has a gateway keep what s is, and adds a row.
func (r *rig) bear(ctx context.Context, t *table, s crowded, url string, d time.Duration) error {
	most := strconv.Itoa(2 * max(s.n, 1000))
	g, err := r.another(ctx, url, "--limits-sessions", most, "--limits-sessions-per-user", most)
	if err != nil {
		return err
	}
	h, err := newHealthy(g)
	if err != nil {
		return err
	}
	defer h.close()
	alone, err := h.measure(d)
	if err != nil {
		return err
	}
	before, err := r.sizes(ctx, g)
	if err != nil {
		return err
	}
	all, err := s.begin(ctx, g)
	if all.close != nil {
		defer func() { _ = all.close() }() // what it had to say is in check
	}
	if err != nil {
		return err
	}
	beside, err := h.measure(d)
	if err != nil {
		return err
	}
	after, err := r.sizes(ctx, g)
	if err != nil {
		return err
	}
	kept, err := all.check()
	if err == nil && kept != s.n {
		err = fmt.Errorf("%d of %d were lost", s.n-kept, s.n)
	}
	if err := errors.Join(err, h.keeps()); err != nil {
		return err
	}
	used := after.less(before)
	t.note(manyGroup, s.what+", "+scheme(url), s.n, kib(used.gateway, s.n), "%s; a healthy caller: %s; none lost%s",
		used.each(url, s.n), besides(alone, beside), all.said)
	return r.stopGateway(g)
}

// besides says what a caller took alone and beside something.
func besides(alone, beside sample) string {
	return fmt.Sprintf("p50 %s us (alone %s), p99 %s us (alone %s)", us(beside.p50), us(alone.p50), us(beside.p99), us(alone.p99))
}

func manyHolds(n int) func(context.Context, *gateway) (settled, error) {
	return func(ctx context.Context, g *gateway) (settled, error) {
		c, err := holders(n, ttl)(ctx, g)
		return settled{close: c.close, check: func() (int, error) { return c.unlockAll(n) }}, err
	}
}

// unlockAll gives back what holders took.
func (c crew) unlockAll(n int) (int, error) {
	return together(len(c.wires), func(i int) (done int, err error) {
		for k := range min(holdsEach, n-i*holdsEach) {
			if err := c.wires[i].ask(encode("UNLOCK", heldBy(i)+strconv.Itoa(k))); err != nil {
				return done, err
			}
			done++
		}
		return done, nil
	})
}

// together runs f for each of n at once, and adds up what they return.
func together(n int, f func(i int) (int, error)) (sum int, err error) {
	done, errs := make([]int, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { done[i], errs[i] = f(i) })
	}
	wg.Wait()
	for _, d := range done {
		sum += d
	}
	return sum, errors.Join(errs...)
}

// openers is how many connections open sessions.
const openers = 16

func manySessions(n int) func(context.Context, *gateway) (settled, error) {
	return func(_ context.Context, g *gateway) (settled, error) {
		d := newDialer(otherUser)
		tokens := make([][]string, openers)
		c, err := connectedBy(func(int) (*wire, error) { return d.dial(g.http) }, openers, func(i int, w *wire) (op, error) {
			return func() error {
				for range (n + i) / openers {
					token, err := w.openSession()
					if err != nil {
						return err
					}
					tokens[i] = append(tokens[i], token)
				}
				return nil
			}, nil
		})
		if err != nil {
			return settled{}, err
		}
		if _, err := load(c, 0); err != nil {
			return settled{close: c.close}, err
		}
		return settled{close: c.close, check: func() (int, error) {
			return together(openers, func(i int) (done int, err error) {
				for _, token := range tokens[i] {
					if _, err := c.wires[i].fetch(request("GET", "/v1/sessions/self", token, "")); err != nil {
						return done, err
					}
					done++
				}
				return done, nil
			})
		}}, nil
	}
}

// manyWaits are callers of several users over the socket, and of this one over HTTP. To
// check them, each gets its turn.
func manyWaits(sockets, web int, why string) func(context.Context, *gateway) (settled, error) {
	return func(ctx context.Context, g *gateway) (settled, error) {
		over := ofMany(g.resp)
		c, err := waitersBy(func(i int) (*wire, error) {
			if i < sockets {
				return over(i)
			}
			return dial("unix", g.http)
		}, func(i int) bool { return i >= sockets }, sockets+web)(ctx, g)
		if web > 0 {
			why = fmt.Sprintf("; %d over HTTP%s", web, why)
		}
		return settled{said: why, close: c.close, check: func() (int, error) {
			if err := c.letGo(); err != nil {
				return 0, err
			}
			return together(len(c.ops), func(i int) (int, error) {
				if err := c.ops[i](); err != nil {
					return 0, err
				}
				return 1, nil
			})
		}}, err
	}
}
