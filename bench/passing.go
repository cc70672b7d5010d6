package main

import (
	"context"
	"errors"
	"sync"
	"time"
)

// passing measures a lock that goes from node to node: from the sending of UNLOCK
// here to the answer to LOCK there, which waits at the store by then.
func passing(ctx context.Context, r *rig, p plan, t *table) error {
	c := contest{group: passGroup, n: 2, rounds: p.rounds, once: loadFor(p.slice / 2), all: []contestant{
		{name: "limit: 2 trivial scripts + 1 socket echo", trips: 1, open: r.needed},
		{name: socketName, trips: 1, open: func(int) (crew, error) { return passes(r.first, r.second, p.pass, time.Millisecond) }},
	}}
	return c.hold(ctx, r, t)
}

// needed is what a hand-off cannot do without: the release, the confirmation by
// who was woken, and one way on each of two sockets.
func (r *rig) needed(int) (crew, error) {
	w, err := dial("unix", r.echo)
	if err != nil {
		return crew{}, err
	}
	client := redisClient(r.addr)
	request, _ := lockAndUnlock(one(0))
	return crew{
		ops: []op{func() error {
			for range 2 {
				if err := trivial.Run(context.Background(), client, nil).Err(); err != nil {
					return err
				}
			}
			return w.exchange(request, len(request))
		}},
		close: func() error { return errors.Join(w.Close(), client.Close()) },
	}, nil
}

// passes has a caller on each of two nodes take the lock in turn, n times. Each has it for
// so long that the other one is in the queue.
func passes(first, second *gateway, n int, hold time.Duration) (crew, error) {
	a, err := dial("unix", first.resp)
	if err != nil {
		return crew{}, err
	}
	b, err := dial("unix", second.resp)
	if err != nil {
		return crew{}, errors.Join(err, a.Close())
	}
	lock, unlock := lockAndUnlock("passed")
	ask := func(w *wire, request []byte) op { return func() error { return w.ask(request) } }
	return crew{
		once:  inTurn(n, hold, [2]op{ask(a, lock), ask(b, lock)}, [2]op{ask(a, unlock), ask(b, unlock)}),
		close: func() error { return errors.Join(a.Close(), b.Close()) },
	}, nil
}

// inTurn has two callers take a lock in turn, n times.
func inTurn(n int, hold time.Duration, locks, unlocks [2]op) func() (sample, error) {
	return func() (sample, error) {
		h := &handoffs{hold: hold}
		var wg sync.WaitGroup
		var errs [2]error
		for i := range 2 {
			wg.Go(func() { errs[i] = h.take(locks[i], unlocks[i], n/2) })
		}
		wg.Wait()
		return sampleOf(h.times, h.sum, errors.Join(errs[:]...))
	}
}

// handoffs are the times of one round.
type handoffs struct {
	hold time.Duration

	mu    sync.Mutex // guards the fields below
	times []time.Duration
	sum   time.Duration
	left  time.Time // when the lock was given back; zero: not yet
}

// take has the lock n times.
func (h *handoffs) take(lock, unlock op, n int) error {
	for range n {
		if err := lock(); err != nil {
			return err
		}
		now := time.Now()
		h.taken(now)
		until(now.Add(h.hold))
		h.leave()
		if err := unlock(); err != nil {
			return err
		}
	}
	return nil
}

func (h *handoffs) taken(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.left.IsZero() {
		h.times = append(h.times, now.Sub(h.left))
		h.sum += now.Sub(h.left)
	}
}

func (h *handoffs) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left = time.Now()
}
