package mysql

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/sqltable"
)

const (
	// announceEach is how often it says that it does, which others believe for 15 s.
	announceEach  = 5 * time.Second
	announceTries = 3
	// unheardAfter is how long a gateway waits to be woken by itself, and tries bell times.
	unheardAfter = time.Second
	bellTries    = 4
)

// errPutBack has the gateway look at the database anew.
var errPutBack = fmt.Errorf("%w: the database knows less of this gateway than it did: it was put back to an earlier state", backend.ErrRefused)

var errElsewhere = fmt.Errorf("%w: the gateway waits for messages at another server than the one that takes its writes", backend.ErrRefused)

// signs are what the node says of where it sleeps. An earlier one may arrive late; so they have
// numbers, and the database keeps the one with the largest.
type signs struct {
	mu   sync.Mutex // guards the fields below, and that numbers come in the order of last
	n    int64      // of the newest
	last *place     // where it sleeps, or is about to
}

// move: from now on the node sleeps at to.
func (s *signs) move(to *place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = to
}

// raise: the database has a sign of that number.
func (s *signs) raise(to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n = max(s.n, to)
}

// number is that of the next sign about at; false: the node sleeps elsewhere.
func (s *signs) number(at *place) (int64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	return s.n, s.last == at
}

// beat says that the node listens, and wakes it over a connection of others.
func (l *sleeper) beat(ctx context.Context) error {
	at := l.place.Load()
	if at == nil {
		return nil
	}
	err := l.t.noticed(l.beatAt(ctx, at))
	if errors.Is(err, errPutBack) {
		err = l.t.Prepare(ctx)
	}
	return err
}

func (l *sleeper) beatAt(ctx context.Context, at *place) error {
	return l.t.requests.with(ctx, func(c *conn) error {
		if c.server.identity != at.identity { // either may be the one that is to be left
			l.t.Reset()
			at.left.Store(true)
			return errElsewhere
		}
		if time.Since(l.told) > announceEach {
			if err := l.announce(ctx, c, at); err != nil {
				return err
			}
			l.told = time.Now()
		}
		if at.polls.Load() {
			return nil
		}
		switch woken, slept := l.wakes(ctx, c, at); {
		case woken:
			l.t.Ear.Heard()
			return nil
		case !slept, l.place.Load() != at, ctx.Err() != nil:
			return ctx.Err()
		}
		l.t.Log.Warn("KILL QUERY does not wake this gateway; it looks for messages by itself", "every", pollEach)
		at.polls.Store(true)
		return l.announce(ctx, c, at)
	})
}

// wakes: the node is woken by who is at c. Whether it sleeps just now is not known, so it is
// tried again. slept: if it was not woken, it slept all the time, or there is nobody to wake. A
// gateway that is busy with what it has heard needs nobody to wake it.
func (l *sleeper) wakes(ctx context.Context, c *conn, at *place) (woken, slept bool) {
	select { // of before
	case <-l.woken:
	default:
	}
	nap := at.naps.Load()
	for range bellTries {
		if !l.t.kill(ctx, c, at.thread) {
			return false, true
		}
		select {
		case <-l.woken:
			return true, true
		case <-time.After(unheardAfter / bellTries):
		case <-ctx.Done():
			return false, false
		}
	}
	return false, nap%2 == 1 && at.naps.Load() == nap
}

// announce tells the others, over any connection, where the node sleeps, unless it has moved on.
func (l *sleeper) announce(ctx context.Context, c *conn, at *place) error {
	if err := l.t.room(); err != nil {
		return err
	}
	node, server := []byte(l.t.Node()), []byte(at.identity)
	for range announceTries {
		thread := int64(at.thread)
		if at.polls.Load() {
			thread = 0
		}
		n, here := l.signs.number(at)
		if !here {
			return nil
		}
		far := l.t.Runs.Far()
		sql, args := hearSQL, []any{node, server, thread, n, n, server, n, thread, n, n}
		if far > 0 {
			sql, args = stillHearSQL, []any{server, thread, n, node, n, far}
		}
		changed, _, err := c.exec(ctx, sql, args...)
		if err != nil {
			return err
		}
		if changed > 0 {
			l.t.Runs.Reached(n)
			return nil
		}
		got, err := c.query(ctx, beatsSQL, node) // of an earlier process, or of the time before it was put back
		if err != nil {
			return err
		}
		is := int64(0)
		for _, row := range got[0] {
			is = sqltable.NewReader(row).Number()
		}
		if is < far {
			return errPutBack
		}
		l.signs.raise(is)
	}
	return fmt.Errorf("%w: the row of the gateway in lockgw_nodes does not change", backend.ErrRefused)
}
