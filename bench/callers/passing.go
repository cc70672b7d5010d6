package callers

import (
	"errors"
	"sync"
	"time"

	"github.com/lockgw/lockgw/bench/figures"
	"github.com/lockgw/lockgw/bench/rig"
)

// Passes has a caller on each of two nodes take the lock in turn, n times. Each has it for
// so long that the other one is in the queue.
func Passes(first, second *rig.Gateway, n int, hold time.Duration) (Crew, error) {
	a, err := Dial("unix", first.RESP)
	if err != nil {
		return Crew{}, err
	}
	b, err := Dial("unix", second.RESP)
	if err != nil {
		return Crew{}, errors.Join(err, a.Close())
	}
	lock, unlock := LockAndUnlock("passed")
	ask := func(w *Wire, request []byte) Op { return func() error { return w.Ask(request) } }
	return Crew{
		Once:  InTurn(n, hold, [2]Op{ask(a, lock), ask(b, lock)}, [2]Op{ask(a, unlock), ask(b, unlock)}),
		Close: func() error { return errors.Join(a.Close(), b.Close()) },
	}, nil
}

// InTurn has two callers take a lock in turn, n times.
func InTurn(n int, hold time.Duration, locks, unlocks [2]Op) func() (figures.Sample, error) {
	return func() (figures.Sample, error) {
		h := &handoffs{hold: hold}
		var wg sync.WaitGroup
		var errs [2]error
		for i := range 2 {
			wg.Go(func() { errs[i] = h.take(locks[i], unlocks[i], n/2) })
		}
		wg.Wait()
		return figures.SampleOf(h.times, h.sum, errors.Join(errs[:]...))
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
func (h *handoffs) take(lock, unlock Op, n int) error {
	for range n {
		if err := lock(); err != nil {
			return err
		}
		now := time.Now()
		h.taken(now)
		rig.Until(now.Add(h.hold))
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
