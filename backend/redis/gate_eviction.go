package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/backend"
)

const (
	checkTimeout = 2 * time.Second
	checkSoon    = 10 * time.Second // while no new lock is granted
	checkLater   = time.Minute      // CONFIG SET tells nobody
)

// eviction keeps an eye on whether the Redis server may drop locks: it asks again after
// each reconnect, every 10 s while that closes a gate, and once a minute otherwise; until
// that answer the one before counts.
type eviction struct {
	ask    func(context.Context) (Eviction, error)
	log    *slog.Logger
	closed atomic.Pointer[error] // why; nil: open
	again  chan struct{}         // cap 1: a connection is new

	cancel context.CancelFunc
	wg     sync.WaitGroup

	// Of Check, and then of the goroutine that start starts.
	answered bool
	said     Eviction
}

func newEviction(ask func(context.Context) (Eviction, error), log *slog.Logger) *eviction {
	e := &eviction{ask: ask, log: log, again: make(chan struct{}, 1), cancel: func() {}}
	e.close(fmt.Errorf("%w: this Redis has not said yet whether it may drop locks", backend.ErrRefused))
	return e
}

// Check asks the server, at most until ctx ends, and says why it may drop locks. It
// is nil too if there is no answer. Call it before Listen or not at all.
func (e *eviction) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	said, err := e.ask(ctx)
	if err != nil {
		e.unanswered(err)
		return nil
	}
	e.answered, e.said = true, said
	if err := said.Err(); err != nil {
		e.close(fmt.Errorf("%w: %w; held locks are still renewed and released", backend.ErrRefused, err))
		return err
	}
	e.closed.Store(nil)
	return nil
}

// unanswered: what the server has said last still counts, if it has said anything.
func (e *eviction) unanswered(err error) {
	if e.answered {
		return
	}
	if !errors.Is(err, backend.ErrRefused) { // the outcome of a request that is not sent is not unknown
		err = fmt.Errorf("%w: this Redis has not said yet whether it may drop locks: %s", backend.ErrRefused, err.Error())
	}
	e.close(err)
}

func (e *eviction) close(why error) { e.closed.Store(&why) }

// refusal is why no new lock is granted; nil: they are.
func (e *eviction) refusal() error {
	if why := e.closed.Load(); why != nil {
		return *why
	}
	return nil
}

// ping is what a Ping says that has returned err.
func (e *eviction) ping(err error) error {
	if err != nil && !errors.Is(err, backend.ErrPartly) {
		return err
	}
	return cmp.Or(e.refusal(), err)
}

func (e *eviction) start() {
	ctx, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	e.wg.Go(func() { e.watch(ctx) })
}

func (e *eviction) stop() {
	e.cancel()
	e.wg.Wait()
}

// reconnected has the server asked again.
func (e *eviction) reconnected() {
	select {
	case e.again <- struct{}{}:
	default:
	}
}

// watch asks again and again, and logs what is new.
func (e *eviction) watch(ctx context.Context) {
	var told Eviction
	for first := true; ; {
		if e.answered && (first || e.said != told) {
			e.report(told)
			first, told = false, e.said
		}
		pause := checkLater
		if e.closed.Load() != nil {
			pause = checkSoon
		}
		select {
		case <-ctx.Done():
			return
		case <-e.again:
		case <-time.After(pause):
		}
		_ = e.Check(ctx) // report tells it
	}
}

func (e *eviction) report(before Eviction) {
	switch err := e.said.Err(); {
	case err != nil:
		e.log.Error("no new locks are granted; held ones are renewed and released", "err", err)
	case e.said.Policy == "":
		e.log.Warn("Redis does not say whether it may drop locks when its memory is full; allow it INFO, or see that its maxmemory-policy is noeviction")
	case before.Err() != nil:
		e.log.Info("Redis does not drop locks any more; that keeps no new ones from being granted")
	}
}
