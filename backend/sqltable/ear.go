package sqltable

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Relisten is the least time between two connections for messages, and relistenMost the longest
// while none can be made.
const (
	Relisten     = 300 * time.Millisecond
	relistenMost = 5 * time.Second
)

// Ear is what a gateway knows of whether messages to it arrive.
type Ear struct {
	product string
	log     *slog.Logger
	heard   atomic.Bool               // something, since the connection was made
	last    atomic.Pointer[time.Time] // when something was heard; at first when there was nothing yet
	trouble atomic.Pointer[error]     // why there is no connection
	unsaid  atomic.Pointer[error]     // why the node could not say the last time that it listens
	beats   chan struct{}             // asks for a beat now
	tried   chan struct{}             // closed when the node listens, or could not the first time
	once    sync.Once                 // closes tried
	started atomic.Bool               // Listen was called
}

// newEar is for messages from the database that people know as product.
func newEar(product string, log *slog.Logger) *Ear {
	e := &Ear{product: product, log: log, beats: make(chan struct{}, 1), tried: make(chan struct{})}
	e.note()
	return e
}

// hasTried notes that the node listens, or could not.
func (e *Ear) hasTried() { e.once.Do(func() { close(e.tried) }) }

// began waits until the node listens for the first time, or it is known that it cannot. What is
// asked for before may lead to a message that it does not hear.
func (e *Ear) began(ctx context.Context) error {
	if !e.started.Load() {
		return nil
	}
	select {
	case <-e.tried:
		return nil
	default:
	}
	select {
	case <-e.tried:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %s does not answer yet", backend.ErrUnreachable, e.product)
	}
}

// Heard notes that messages arrive.
func (e *Ear) Heard() {
	if was := e.trouble.Swap(nil); was != nil {
		e.log.Info("messages from " + e.product + " arrive again")
	}
	e.heard.Store(true)
	e.note()
}

func (e *Ear) note() {
	now := time.Now()
	e.last.Store(&now)
}

// Age is how long ago messages were last known to arrive.
func (e *Ear) Age() time.Duration { return time.Since(*e.last.Load()) }

// Trouble is why there was no connection for messages the last time; nil: there was one.
func (e *Ear) Trouble() error {
	if err := e.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// Wrong is why messages do not arrive; nil: they do.
func (e *Ear) Wrong() error {
	switch err, unsaid := e.Trouble(), e.Unsaid(); {
	case e.heard.Load():
		return nil
	case unsaid != nil: // which is why nothing was heard
		return unsaid
	case err != nil:
		return err
	default:
		return errors.New("it answers, but messages do not arrive")
	}
}

// Unsaid is why the node could not say the last time that it listens, so that it hears nothing of
// that; nil: it could.
func (e *Ear) Unsaid() error {
	if err := e.unsaid.Load(); err != nil {
		return fmt.Errorf("the gateway cannot send a message to itself: %w", *err)
	}
	return nil
}

// run listens until ctx is over, over one connection after the other. listen says whether it
// could, and why it does so no more; an error of nil is no trouble. deaf is called when the database
// does not let it.
func (e *Ear) run(ctx context.Context, listen func(context.Context) (listened bool, err error), deaf func()) {
	for wait := Relisten; ctx.Err() == nil; {
		listened, err := listen(ctx)
		e.hasTried()
		e.heard.Store(false)
		if ctx.Err() != nil {
			return
		}
		if listened {
			wait = Relisten
		}
		if err != nil {
			if was := e.trouble.Swap(&err); was == nil || (*was).Error() != err.Error() {
				e.log.Warn("messages from "+e.product+" do not arrive; trying again", "err", err)
			}
		}
		if !listened && errors.Is(err, backend.ErrRefused) { // else requests get no answer either
			deaf()
		}
		backend.Wait(ctx, wait)
		wait = min(2*wait, relistenMost)
	}
}

// beat calls say, which says that the node listens, each period and when beats has an element,
// until ctx is over; and sweep after so many periods.
func (e *Ear) beat(ctx context.Context, period time.Duration, sweepEach int, say, sweep func(context.Context) error) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	said := ""
	for n := 1; ; {
		select {
		case <-ctx.Done():
			return
		case <-e.beats:
		case <-ticker.C:
			n++
		}
		asked, cancel := context.WithTimeout(ctx, BeatPeriod)
		err := say(asked)
		switch {
		case err == nil:
			e.unsaid.Store(nil)
		case ctx.Err() == nil:
			e.unsaid.Store(&err)
			e.log.Debug(e.product+" does not take the sign of life of this gateway", "err", err)
		}
		if err == nil && n%sweepEach == 0 {
			n++
			said = e.swept(ctx, sweep(asked), said)
		}
		cancel()
	}
}

// swept tells why a sweep has failed, unless that was said before, and returns what was said. Nobody else
// would, and the tables grow.
func (e *Ear) swept(ctx context.Context, err error, before string) (said string) {
	if err == nil || ctx.Err() != nil {
		return ""
	}
	if said = err.Error(); said != before {
		e.log.Warn("what nobody uses is not deleted from "+e.product+"; trying again", "err", err)
	}
	return said
}
