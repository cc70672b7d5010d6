// Package breaker spares a store that does not answer the requests that would only
// wait for it: while it is open, an Acquire is refused at once. Nothing else is
// gated, so that what is held can be renewed and released, and a name passed on,
// the moment the store is back.
package breaker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/lockgw/lockgw/backend"
)

const (
	openFor = 2 * time.Second // short against a lease
	probes  = 3               // requests that have to succeed before it closes
	window  = 10 * time.Second
	bucket  = time.Second

	// It opens when half of the requests in the window have failed, or a few in a
	// row: a gateway with few callers never has enough for a share.
	enough = 20
	inRow  = 5

	// patience is how long a store may take before a caller's deadline that ends
	// the wait says something about the store.
	patience = 500 * time.Millisecond
)

// What a request tells about the store.
var (
	errFailed  = errors.New("the store did not answer")
	errNothing = errors.New("nothing")
)

type breaker struct {
	backend.Backend
	cb    *gobreaker.TwoStepCircuitBreaker[backend.Answer]
	inRow atomic.Uint32 // failures; gobreaker forgets its own count with the window
	until atomic.Int64  // when it may close, in Unix nanoseconds

	opened atomic.Uint64 // how often
}

// New gates Acquire of b. Once too many requests had no answer, Acquire returns
// backend.ErrRefused for 2 s without asking b; then three requests try whether the
// store is back. An answer of any kind is a success, a refusal too; a request that
// the caller gave up does not count, unless b had half a second for it.
func New(b backend.Backend, log *slog.Logger) backend.Backend { return newBreaker(b, log) }

func newBreaker(b backend.Backend, log *slog.Logger) *breaker {
	g := &breaker{Backend: b}
	g.cb = gobreaker.NewTwoStepCircuitBreaker[backend.Answer](gobreaker.Settings{
		MaxRequests:  probes,
		Interval:     window,
		BucketPeriod: bucket,
		Timeout:      openFor,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			answered := c.TotalSuccesses // c.Requests has those under way too
			return g.inRow.Load() >= inRow || answered+c.TotalFailures >= enough && c.TotalFailures >= answered
		},
		IsExcluded: func(err error) bool { return errors.Is(err, errNothing) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				g.opened.Add(1)
				g.until.Store(time.Now().Add(openFor).UnixNano())
				log.Warn("the store does not answer; new locks are refused", "retry_after", openFor)
			case gobreaker.StateClosed:
				log.Info("the store answers again") // whether it grants locks is for others to say
			}
		},
	})
	return g
}

// Acquire implements backend.Backend.
func (g *breaker) Acquire(ctx context.Context, r backend.Request) (backend.Answer, error) {
	if r.Repeat { // what the store may have granted already has to be found out, or it lies idle
		return g.Backend.Acquire(ctx, r)
	}
	report, err := g.cb.Allow()
	if err != nil {
		return backend.Answer{}, g.refusal()
	}
	outcome := errFailed // of a panic
	defer func() { report(outcome) }()
	began := time.Now()
	a, err := g.Backend.Acquire(ctx, r)
	outcome = g.judge(ctx, err, time.Since(began))
	return a, err
}

// judge tells what err says about the store.
func (g *breaker) judge(ctx context.Context, err error, took time.Duration) error {
	if !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrUnreachable) {
		g.inRow.Store(0)
		return nil
	}
	if gaveUp := ctx.Err(); errors.Is(gaveUp, context.Canceled) || gaveUp != nil && took < patience {
		return errNothing
	}
	g.inRow.Add(1)
	return errFailed
}

func (g *breaker) refusal() error {
	left := time.Until(time.Unix(0, g.until.Load()))
	if left <= 0 {
		return backend.NotSent("the store did not answer of late and is being tried again; ask again in a moment")
	}
	return &backend.Later{After: left, Err: backend.NotSent(fmt.Sprintf("the store did not answer of late and is left alone for another %v; "+
		"held locks are still renewed and released", left.Round(100*time.Millisecond)))}
}
