package mysql

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

const (
	// asleep is the longest that a gateway sleeps in the database without looking.
	asleep = 2 * time.Second
	// beatPeriod is how often a gateway wakes itself, over another connection.
	beatPeriod = 2 * time.Second
	// announceEach is how often it says that it does, which others believe for 15 s.
	announceEach = 5 * time.Second
	// silence is how long the server may owe the answer to a sleep: a lost message must not
	// cost more than 5 s.
	silence = asleep + 2*time.Second
	// unheardAfter is how long a gateway waits to be woken by itself, and tries bell times.
	unheardAfter = time.Second
	bellTries    = 4
	// pollEach is how often a gateway looks for mail that nobody can wake, and pollAtMost when
	// it tries again whether that is so.
	pollEach   = 25 * time.Millisecond
	pollAtMost = time.Minute
	// fetchedMost is how much mail is named that was fetched and not deleted yet. Beyond that
	// a gateway waits until it is deleted.
	fetchedMost = 500
	// cleanAfter is how long mail may wait to be deleted together with other.
	cleanAfter = 20 * time.Millisecond
	sweepEach  = 30 // beats
)

// sleeper hears the messages to the node, on a connection of its own.
type sleeper struct {
	*sqltable.Ear
	t       *Table
	to      func(ledger.Addressed)
	place   atomic.Pointer[place] // where it sleeps; nil: nowhere
	polls   atomic.Bool           // it does not sleep, for nobody can wake it
	woken   chan struct{}         // it was woken
	fetches chan struct{}         // mail was fetched, and is to be deleted
	told    time.Time             // when it was announced last; only beat uses it

	mu   sync.Mutex      // guards the fields below
	burn map[uint64]bool // mail that is to be deleted
	was  map[uint64]bool // mail that was deleted since the sleeper looked last
}

// place is a connection of which others know.
type place struct {
	thread   uint64
	identity string // of the server
	nap      string // lock of the server for which it waits there
}

func newSleeper(t *Table) *sleeper {
	one := func() chan struct{} { return make(chan struct{}, 1) }
	return &sleeper{Ear: sqltable.NewEar(product, t.cfg.Log), t: t, woken: one(), fetches: one(), was: map[uint64]bool{}}
}

// Listen implements ledger.Table.
func (t *Table) Listen(f func(ledger.Addressed)) {
	l := t.sleeper
	l.to = f
	l.Start()
	ctx, cancel := context.WithCancel(context.Background())
	stop := t.cancel
	t.cancel = func() {
		cancel()
		stop()
	}
	t.wg.Go(func() {
		l.Run(ctx, func(ctx context.Context) (bool, error) {
			err := l.listen(ctx)
			return l.place.Swap(nil) != nil, err
		})
	})
	t.wg.Go(func() {
		l.Beat(ctx, beatPeriod, beatPeriod, sweepEach, l.beat, func(ctx context.Context) error { return t.sweep(ctx, unused) })
	})
	t.wg.Go(func() { l.clean(ctx) })
}

// leave has the others know that nobody hears any more: the server does not notice at once
// that a connection is gone on which somebody sleeps.
func (l *sleeper) leave() {
	if at := l.place.Load(); at != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		_ = l.t.requests.do(ctx, deafSQL, []byte(l.t.cfg.Node.ID), int64(at.thread))
	}
}

// wrong is why messages do not arrive at once; nil: they do.
func (l *sleeper) wrong() error {
	if l.polls.Load() && l.place.Load() != nil {
		return errPolls
	}
	return l.Wrong()
}

// listen makes a connection and waits there for mail until it breaks.
func (l *sleeper) listen(ctx context.Context) error {
	if err := l.t.prepared.Do(ctx); err != nil {
		return err
	}
	c, err := l.t.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	l.polls.Store(false)
	keeper, err := l.t.connect(ctx)
	if err != nil {
		return err
	}
	defer keeper.Close()
	at := &place{thread: c.thread, identity: c.server.identity, nap: fmt.Sprintf("lockgw.%d", keeper.thread)}
	announcing, cancel := context.WithTimeout(ctx, silence)
	err = keep(announcing, keeper, at)
	if err == nil {
		err = l.announce(announcing, c, at)
	}
	cancel()
	if err != nil {
		return l.t.noticed(err)
	}
	l.place.Store(at)
	l.Tried()
	l.BeatNow()
	// It may be another server now, or the same one that has forgotten.
	l.t.prepared.Again()
	l.to(ledger.Addressed{Message: ledger.Message{Node: l.t.cfg.Node.ID, Kind: ledger.Resync}})
	return l.read(ctx, c, at)
}

// keep has c hold the lock for which the node waits at the same server.
func keep(ctx context.Context, c *conn, at *place) error {
	if c.server.identity != at.identity {
		return fmt.Errorf("%w: two connections have led to different servers", backend.ErrRefused)
	}
	got, err := c.query(ctx, fmt.Sprintf(napSQL, at.nap))
	if err == nil && (len(got) != 1 || len(got[0]) != 1 || got[0][0][0].text != "1") {
		err = fmt.Errorf("%w: somebody else has the lock %s of the server (GET_LOCK), which is the gateway's", backend.ErrRefused, at.nap)
	}
	return err
}

// announce tells the others, over any connection, where the node sleeps.
func (l *sleeper) announce(ctx context.Context, c *conn, at *place) error {
	thread := int64(at.thread)
	if l.polls.Load() {
		thread = 0
	}
	n := l.t.beats.next()
	_, _, err := c.exec(ctx, hearSQL, []byte(l.t.cfg.Node.ID), []byte(at.identity), thread, n, []byte(at.identity), thread, n)
	if err == nil {
		l.t.runs.Reached(n)
	}
	return err
}

// read sleeps and fetches by turns.
func (l *sleeper) read(ctx context.Context, c *conn, at *place) error {
	fetched := map[uint64]bool{}
	for began := time.Now(); ; {
		waiting, cancel := context.WithTimeout(ctx, silence)
		err := l.sleep(waiting, c, at, fetched)
		if err == nil {
			err = l.t.fetch(waiting, fetched, l.to)
		}
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("nothing was heard for %v, not even the end of a sleep", silence)
		case err != nil:
			return outcome(err)
		}
		l.exchange(fetched)
		for len(fetched) >= fetchedMost && wait(ctx, cleanAfter) {
			l.exchange(fetched)
		}
		if l.polls.Load() && time.Since(began) > pollAtMost {
			return nil // perhaps it can be woken now
		}
	}
}

// sleep is over when there is mail, or after a while.
func (l *sleeper) sleep(ctx context.Context, c *conn, at *place, fetched map[uint64]bool) error {
	if l.polls.Load() {
		wait(ctx, pollEach)
		return nil
	}
	got, err := c.query(ctx, fmt.Sprintf(sleepSQL, at.nap, int(asleep.Seconds()), listOf(fetched)), []byte(l.t.cfg.Node.ID))
	switch {
	case interrupted(err):
		l.wokenUp()
		return nil
	case err != nil || len(got[0]) == 0: // there is mail
		return err
	case got[0][0][0].null:
		l.wokenUp()
	case got[0][0][0].text == "1":
		return errors.New("the connection is gone that keeps the gateway asleep")
	}
	return nil
}

func (l *sleeper) wokenUp() { signal(l.woken) }

// exchange has mail deleted that was fetched, and forgets what was deleted.
func (l *sleeper) exchange(fetched map[uint64]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.was {
		delete(fetched, id)
	}
	clear(l.was)
	if l.burn = maps.Clone(fetched); len(fetched) > 0 {
		signal(l.fetches)
	}
}

// clean deletes mail that was fetched, beside everything else.
func (l *sleeper) clean(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.fetches:
		}
		wait(ctx, cleanAfter)
		l.mu.Lock()
		ids := map[uint64]bool{}
		for id := range l.burn {
			if !l.was[id] {
				ids[id] = true
			}
		}
		l.mu.Unlock()
		if l.t.burn(ctx, ids) != nil { // the next ones have them deleted, too
			continue
		}
		l.mu.Lock()
		maps.Copy(l.was, ids)
		l.mu.Unlock()
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// beats is how often the node was there.
type beats struct{ n atomic.Int64 }

// next is the number of the next sign of life.
func (b *beats) next() int64 { return b.n.Add(1) }

// raise: the database has had so many.
func (b *beats) raise(to int64) {
	for n := b.n.Load(); n < to && !b.n.CompareAndSwap(n, to); n = b.n.Load() {
	}
}

// beat says that the node listens, and wakes it over a connection of others.
func (l *sleeper) beat(ctx context.Context) error {
	at := l.place.Load()
	if at == nil {
		return nil
	}
	return l.t.noticed(l.beatAt(ctx, at))
}

func (l *sleeper) beatAt(ctx context.Context, at *place) error {
	return l.t.requests.with(ctx, func(c *conn) error {
		if c.server.identity != at.identity {
			return fmt.Errorf("%w: the gateway waits for messages at another server than the one that takes its writes", backend.ErrRefused)
		}
		if time.Since(l.told) > announceEach {
			if err := l.announce(ctx, c, at); err != nil {
				return err
			}
			l.told = time.Now()
		}
		if l.polls.Load() {
			return nil
		}
		if l.wakes(ctx, c, at) {
			l.Heard()
			return nil
		}
		if l.place.Load() != at || ctx.Err() != nil {
			return ctx.Err()
		}
		l.t.cfg.Log.Warn("KILL QUERY does not wake this gateway; it looks for messages by itself", "every", pollEach)
		l.polls.Store(true)
		return l.announce(ctx, c, at)
	})
}

// wakes: the node is woken by who is at c. Whether it sleeps just now is not known, so it is
// tried again.
func (l *sleeper) wakes(ctx context.Context, c *conn, at *place) bool {
	select { // of before
	case <-l.woken:
	default:
	}
	for range bellTries {
		if !l.t.kill(ctx, c, at.thread) {
			return false
		}
		select {
		case <-l.woken:
			return true
		case <-time.After(unheardAfter / bellTries):
		case <-ctx.Done():
			return false
		}
	}
	return false
}
