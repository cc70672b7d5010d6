// Package callers has who asks gateways for locks: as light as can be, so that what is
// measured is the gateway, over the socket and over HTTP, as one user or several.
package callers

import (
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/lockgw/lockgw/bench/figures"
)

// Op is what a caller does again and again: a round trip, or a lock and unlock.
type Op func() error

// Crew is callers that are ready to begin.
type Crew struct {
	Ops   []Op
	Once  func() (figures.Sample, error) // measured instead of ops
	Close func() error

	Wires []*Wire      // of callers that have a connection each
	LetGo func() error // gives back what the callers wait for
}

// Load has all of a crew work for d, or do one thing each if d is 0.
func Load(c Crew, d time.Duration) (figures.Sample, error) {
	times := make([][]time.Duration, len(c.Ops))
	errs := make([]error, len(c.Ops))
	begin := make(chan struct{})
	var began time.Time
	var wg sync.WaitGroup
	for i, do := range c.Ops {
		wg.Go(func() {
			<-begin
			times[i], errs[i] = repeat(do, began, began.Add(d))
		})
	}
	began = time.Now()
	close(begin)
	wg.Wait()
	return figures.SampleOf(slices.Concat(times...), time.Since(began), errors.Join(errs...))
}

// repeat does one thing until it is time to stop, and at least once.
func repeat(do Op, now, until time.Time) (times []time.Duration, err error) {
	for {
		if err := do(); err != nil {
			return times, err
		}
		end := time.Now()
		times = append(times, end.Sub(now))
		if now = end; !now.Before(until) {
			return times, nil
		}
	}
}

// Connected makes a crew of which each caller has a connection.
func Connected(n int, network, addr string, caller func(i int, w *Wire) (Op, error)) (Crew, error) {
	return ConnectedBy(func(int) (*Wire, error) { return Dial(network, addr) }, n, caller)
}

// ConnectedBy is connected with connections of its caller's making.
func ConnectedBy(dial func(i int) (*Wire, error), n int, caller func(i int, w *Wire) (Op, error)) (Crew, error) {
	var open []io.Closer
	c := Crew{Close: func() error {
		var errs []error
		for _, w := range open {
			errs = append(errs, w.Close())
		}
		return errors.Join(errs...)
	}}
	for i := range n {
		w, err := dial(i)
		if err != nil {
			return Crew{}, errors.Join(err, c.Close())
		}
		open, c.Wires = append(open, w), append(c.Wires, w)
		do, err := caller(i, w)
		if err != nil {
			return Crew{}, errors.Join(err, c.Close())
		}
		c.Ops = append(c.Ops, do)
	}
	return c, nil
}

// joined is one crew of all, the callers of each in turn.
func joined(parts []Crew) Crew {
	c := Crew{Close: func() error {
		var errs []error
		for _, p := range parts {
			errs = append(errs, p.Close())
		}
		return errors.Join(errs...)
	}}
	for _, p := range parts {
		c.Ops = append(c.Ops, p.Ops...)
	}
	return c
}
