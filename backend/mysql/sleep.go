package mysql

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/backend"
)

const (
	// asleep is the longest that a gateway sleeps in the database without looking.
	asleep = 2 * time.Second
	// silence is how long the server may owe an answer, beyond the end of a sleep as well: a
	// lost message must not cost more than 5 s.
	silence = 2 * time.Second
	// listenMost is how long it may take to be listening.
	listenMost = 4 * time.Second
	// pollEach is how often a gateway looks for mail that nobody can wake, and pollAtMost when
	// it tries again whether that is so.
	pollEach   = 25 * time.Millisecond
	pollAtMost = time.Minute
)

// sleeper hears the messages to the node, on a connection of its own.
type sleeper struct {
	t     *Table
	place atomic.Pointer[place] // where it sleeps; nil: nowhere
	signs signs
	woken chan struct{} // it was woken
	told  time.Time     // when it was announced last; only beat uses it

	asleep time.Duration // the longest sleep
}

// place is a connection of which others know.
type place struct {
	thread   uint64
	identity string       // of the server
	nap      string       // lock of the server for which it waits there
	polls    atomic.Bool  // it does not sleep, for nobody can wake it
	left     atomic.Bool  // writes go to another server by now, where nobody looks for it here
	naps     atomic.Int64 // sleeps that have begun and that have ended
}

func newSleeper(t *Table) *sleeper {
	return &sleeper{t: t, woken: make(chan struct{}, 1), asleep: asleep}
}

// leave has the others know that nobody hears any more: the server does not notice at once
// that a connection is gone on which somebody sleeps.
func (l *sleeper) leave() {
	if at := l.place.Load(); at != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
		defer cancel()
		_ = l.t.requests.do(ctx, deafSQL, []byte(l.t.Node()), int64(at.thread))
	}
}

// wrong is why messages do not arrive at once; nil: they do.
func (l *sleeper) wrong() error {
	if at := l.place.Load(); at != nil && at.polls.Load() {
		return errPolls
	}
	return l.t.Ear.Wrong()
}

func (l *sleeper) listen(ctx context.Context) (listened bool, err error) {
	err = l.hear(ctx)
	if ctx.Err() != nil {
		l.leave()
	}
	return l.place.Swap(nil) != nil, err
}

// hear makes a connection and waits there for mail until it breaks.
func (l *sleeper) hear(ctx context.Context) error {
	preparing, cancel := context.WithTimeout(ctx, listenMost) // over a connection that is dead no answer ever comes
	err := l.t.Prepare(preparing)
	cancel()
	if err != nil {
		return err
	}
	c, err := l.t.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	keeper, err := l.t.connect(ctx)
	if err != nil {
		return err
	}
	defer keeper.Close()
	at := &place{thread: c.thread, identity: c.server.identity, nap: fmt.Sprintf("lockgw.%d", keeper.thread)}
	l.signs.move(at)
	announcing, cancel := context.WithTimeout(ctx, listenMost)
	err = keep(announcing, keeper, at)
	if err == nil {
		err = l.announce(announcing, c, at)
	}
	cancel()
	if err != nil {
		return l.t.noticed(err)
	}
	l.place.Store(at)
	l.t.Listens()
	return l.read(ctx, c, at)
}

// keep has c hold the lock for which the node waits at the same server.
func keep(ctx context.Context, c *conn, at *place) error {
	if c.server.identity != at.identity {
		return fmt.Errorf("%w: two connections have led to different servers", backend.ErrRefused)
	}
	got, err := c.query(ctx, fmt.Sprintf(napSQL, at.nap))
	if err == nil && (len(got) != 1 || len(got[0]) != 1 || string(got[0][0][0]) != "1") {
		err = fmt.Errorf("%w: somebody else has the lock %s of the server (GET_LOCK), which is the gateway's", backend.ErrRefused, at.nap)
	}
	return err
}

// read sleeps and fetches by turns.
func (l *sleeper) read(ctx context.Context, c *conn, at *place) error {
	cleaning, stop := context.WithCancel(ctx)
	box := newMailbox(cleaning, l.t.burn)
	defer box.work.Wait()
	defer stop()
	for began := time.Now(); ; {
		waiting, cancel := context.WithTimeout(ctx, l.asleep+silence)
		err := l.sleep(waiting, c, at, box)
		if err == nil {
			err = l.t.fetch(waiting, box)
		}
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("nothing was heard for %v, not even the end of a sleep", l.asleep+silence)
		case err != nil:
			return outcome(err)
		case at.left.Load():
			return errElsewhere
		}
		making, cancel := context.WithTimeout(ctx, cleanMost+silence)
		err = box.clean(making)
		cancel()
		if err != nil {
			return err
		}
		if at.polls.Load() && time.Since(began) > pollAtMost {
			return nil // perhaps it can be woken now
		}
	}
}

// sleep is over when there is mail, or after a while.
func (l *sleeper) sleep(ctx context.Context, c *conn, at *place, box *mailbox) error {
	if at.polls.Load() {
		backend.Wait(ctx, pollEach)
		return nil
	}
	at.naps.Add(1)
	got, err := c.query(ctx, fmt.Sprintf(sleepSQL, at.nap, int(l.asleep.Seconds()), listOf(box.ids)), []byte(l.t.Node()))
	at.naps.Add(1)
	switch {
	case is(err, 1317): // by KILL QUERY
		backend.Signal(l.woken)
		return nil
	case err != nil || len(got[0]) == 0: // there is mail
		return err
	case got[0][0][0] == nil:
		backend.Signal(l.woken)
	case string(got[0][0][0]) == "1":
		return errors.New("the connection is gone that keeps the gateway asleep")
	}
	return nil
}
