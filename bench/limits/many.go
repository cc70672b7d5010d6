package limits

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/figures"
	"github.com/lockgw/lockgw/bench/rig"
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
	files, err := callers.OpenFiles()
	n = min(n, allSockets, max(files-reservedFiles, 10))
	if !callers.SeveralUsers() {
		n = min(n, callers.MostConns)
	}
	return n, err
}

// ofMany dials a socket as one user after the other, each as often as it may.
func ofMany(path string) func(i int) (*callers.Wire, error) {
	if !callers.SeveralUsers() {
		return func(int) (*callers.Wire, error) { return callers.Dial("unix", path) }
	}
	var users []*callers.Dialer
	return func(i int) (*callers.Wire, error) {
		for len(users) <= i/userSockets {
			users = append(users, callers.NewDialer(callers.OtherUser+len(users)))
		}
		return users[i/userSockets].Dial(path)
	}
}

// crowded is a gateway that has as much of something as it may have.
type crowded struct {
	what  string
	n     int
	begin func(ctx context.Context, g *rig.Gateway) (settled, error)
}

// settled is what a gateway was made to keep.
type settled struct {
	said  string              // how many, and why not more
	check func() (int, error) // ends it all, and says how much of it was still there
	close func() error
}

// many shows what a gateway costs that has many holds, sessions and waiters, and what a
// healthy caller notices of it. Whatever is lost meanwhile is an error.
func many(ctx context.Context, r *rig.Rig, p rig.Plan, t *figures.Table) error {
	sockets, web, why, err := shareOut(p.Crowds)
	if err != nil {
		return err
	}
	for _, url := range r.URLs() {
		for _, s := range []crowded{
			{"names held", p.Many, manyHolds(p.Many)},
			{"sessions", p.Many, manySessions(p.Many)},
			{"callers wait, socket", sockets, manyWaits(sockets, 0, why)},
			{"callers wait, socket and HTTP", sockets + web, manyWaits(sockets, web, why)},
		} {
			if err := bear(ctx, r, t, s, url, p.Slice*10); err != nil {
				return fmt.Errorf("%d %s, %s: %w", s.n, s.what, rig.Scheme(url), err)
			}
		}
	}
	return nil
}

// shareOut divides callers between the socket and HTTP.
func shareOut(n int) (sockets, web int, why string, err error) {
	files, err := callers.OpenFiles()
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
func bear(ctx context.Context, r *rig.Rig, t *figures.Table, s crowded, url string, d time.Duration) error {
	most := strconv.Itoa(2 * max(s.n, 1000))
	g, err := r.Another(ctx, url, "--limits-sessions", most, "--limits-sessions-per-user", most, "--limits-holds-per-user", most)
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
	before, err := r.Sizes(ctx, g)
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
	after, err := r.Sizes(ctx, g)
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
	used := after.Less(before)
	t.Note(manyGroup, s.what+", "+rig.Scheme(url), s.n, figures.KiB(used.Gateway, s.n), "%s; a healthy caller: %s; none lost%s",
		used.Each(url, s.n), besides(alone, beside), all.said)
	return r.StopGateway(g)
}

// besides says what a caller took alone and beside something.
func besides(alone, beside figures.Sample) string {
	return fmt.Sprintf("p50 %s us (alone %s), p99 %s us (alone %s)", figures.Micros(beside.P50), figures.Micros(alone.P50), figures.Micros(beside.P99), figures.Micros(alone.P99))
}

func manyHolds(n int) func(context.Context, *rig.Gateway) (settled, error) {
	return func(ctx context.Context, g *rig.Gateway) (settled, error) {
		c, err := callers.Holders(n, callers.TTL)(ctx, g)
		return settled{close: c.Close, check: func() (int, error) { return unlockAll(c, n) }}, err
	}
}

// unlockAll gives back what holders took.
func unlockAll(c callers.Crew, n int) (int, error) {
	return together(len(c.Wires), func(i int) (done int, err error) {
		for k := range min(callers.HoldsEach, n-i*callers.HoldsEach) {
			if err := c.Wires[i].Ask(callers.Encode("UNLOCK", callers.HeldBy(i)+strconv.Itoa(k))); err != nil {
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

func manySessions(n int) func(context.Context, *rig.Gateway) (settled, error) {
	return func(_ context.Context, g *rig.Gateway) (settled, error) {
		d := callers.NewDialer(callers.OtherUser)
		tokens := make([][]string, openers)
		c, err := callers.ConnectedBy(func(int) (*callers.Wire, error) { return d.Dial(g.HTTP) }, openers, func(i int, w *callers.Wire) (callers.Op, error) {
			return func() error {
				for range (n + i) / openers {
					token, err := w.OpenSession()
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
		if _, err := callers.Load(c, 0); err != nil {
			return settled{close: c.Close}, err
		}
		return settled{close: c.Close, check: func() (int, error) {
			return together(openers, func(i int) (done int, err error) {
				for _, token := range tokens[i] {
					if _, err := c.Wires[i].Fetch(callers.Request("GET", "/v1/sessions/self", token, "")); err != nil {
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
func manyWaits(sockets, web int, why string) func(context.Context, *rig.Gateway) (settled, error) {
	return func(ctx context.Context, g *rig.Gateway) (settled, error) {
		over := ofMany(g.RESP)
		c, err := callers.WaitersBy(func(i int) (*callers.Wire, error) {
			if i < sockets {
				return over(i)
			}
			return callers.Dial("unix", g.HTTP)
		}, func(i int) bool { return i >= sockets }, sockets+web)(ctx, g)
		if web > 0 {
			why = fmt.Sprintf("; %d over HTTP%s", web, why)
		}
		return settled{said: why, close: c.Close, check: func() (int, error) {
			if err := c.LetGo(); err != nil {
				return 0, err
			}
			return together(len(c.Ops), func(i int) (int, error) {
				if err := c.Ops[i](); err != nil {
					return 0, err
				}
				return 1, nil
			})
		}}, err
	}
}
