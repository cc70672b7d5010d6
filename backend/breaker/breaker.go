// Package breaker spares a store that does not answer the requests that would only
// wait for it: while it is open, a new lock is refused at once. Nothing else is
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
)

// What a request tells about the store.
var (
	errFailed  = errors.New("the store did not answer")
	errNothing = errors.New("nothing")
)

// circuit counts what becomes of the requests to a store, or to a part of one.
type circuit struct {
	cb    *gobreaker.TwoStepCircuitBreaker[struct{}]
	inRow atomic.Uint32 // failures; gobreaker forgets its own count with the window
	until atomic.Int64  // when it may close, in Unix nanoseconds
	why   atomic.Value  // string: of the last failure

	opened atomic.Uint64 // how often
}

// newCircuit is closed. look is told when it has opened, and when it is closed again.
func newCircuit(look *lookout, log *slog.Logger) *circuit {
	c := &circuit{}
	c.cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests:  probes,
		Interval:     window,
		BucketPeriod: bucket,
		Timeout:      openFor,
		ReadyToTrip: func(n gobreaker.Counts) bool {
			answered := n.TotalSuccesses // n.Requests has those under way too
			return c.inRow.Load() >= inRow || answered+n.TotalFailures >= enough && n.TotalFailures >= answered
		},
		IsExcluded: func(err error) bool { return errors.Is(err, errNothing) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				c.opened.Add(1)
				c.until.Store(time.Now().Add(openFor).UnixNano())
				if from == gobreaker.StateHalfOpen { // a try has failed, and nothing has changed
					return
				}
				look.opened()
				log.Warn("the store does not answer; new locks are refused", "err", c.why.Load(), "retry_after", openFor)
			case gobreaker.StateClosed:
				look.closed()
				log.Info("the store answers again") // whether it grants locks is for others to say
			}
		},
	})
	return c
}

// answered closes c, unless it is open: the store was asked something else meanwhile, and serves.
func (c *circuit) answered() {
	if State(c.cb.State()) != HalfOpen {
		return
	}
	c.inRow.Store(0)
	for range probes {
		if report, err := c.cb.Allow(); err == nil {
			report(nil)
		}
	}
}

// allow lets a request be sent to the store, whose outcome has to be told by done, unless
// c is open. Once too many had no answer, backend.ErrRefused is returned for 2 s; then
// three requests try whether the store is back. An answer of any kind is a success, a
// refusal too; a request that the caller gave up does not count, unless the store had half
// a second for it.
func (c *circuit) allow(ctx context.Context) (done func(err error), refused error) {
	report, err := c.cb.Allow()
	if err != nil {
		return nil, c.refusal()
	}
	began := time.Now()
	return func(err error) { report(c.judge(ctx, err, began)) }, nil
}

// judge tells what err says about the store.
func (c *circuit) judge(ctx context.Context, err error, began time.Time) error {
	if !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrUnreachable) {
		c.inRow.Store(0)
		return nil
	}
	if backend.GaveUp(ctx, began) {
		return errNothing
	}
	c.why.Store(err.Error())
	c.inRow.Add(1)
	return errFailed
}

func (c *circuit) refusal() error {
	const why = "the store did not answer of late (%v) and is "
	left := time.Until(time.Unix(0, c.until.Load()))
	if left <= 0 {
		return backend.NotSent(fmt.Sprintf(why+"being tried again; ask again in a moment", c.why.Load()))
	}
	return &backend.Later{After: left, Err: backend.NotSent(fmt.Sprintf(why+"left alone for another %v; "+
		"held locks are still renewed and released", c.why.Load(), left.Round(100*time.Millisecond)))}
}
