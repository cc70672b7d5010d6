package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/sqltable"
)

const (
	// beatPeriod is how often a gateway sends itself a message, over another connection than
	// that by which it listens: a pooler passes on those of the same one.
	beatPeriod = 2 * time.Second
	// silence is how long nothing may be heard before the connection is made anew: a lost
	// message must not cost more than 5 s.
	silence   = beatPeriod + 2*time.Second
	sweepEach = 30 // beats
	sweepMost = 1000
	// unused is how long a row stays that nobody uses: longer than a request is under way.
	unused = time.Minute
)

// probe is the message of a gateway to itself. No kind of message is called so.
const probe = "probe"

// listener hears the messages to the node, on a connection of its own.
type listener struct {
	*sqltable.Ear
	t       *Table
	cfg     *pgconn.Config
	channel string
	to      func(ledger.Addressed)
	pid     atomic.Uint32 // of the backend that listens; 0: there is none
}

func newListener(t *Table, cfg *pgconn.Config) *listener {
	l := &listener{Ear: sqltable.NewEar(product, t.cfg.Log), t: t, cfg: cfg, channel: channelPrefix + t.cfg.Node.ID}
	cfg.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { l.notified(n.Payload) }
	return l
}

// Listen implements ledger.Table.
func (t *Table) Listen(f func(ledger.Addressed)) {
	l := t.listener
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
			return l.pid.Swap(0) != 0, err
		})
	})
	t.wg.Go(func() {
		l.Beat(ctx, beatPeriod, beatPeriod, sweepEach, l.beat, func(ctx context.Context) error { return t.sweep(ctx, unused) })
	})
}

var errPooler = fmt.Errorf("%w: there is a pooler, such as PgBouncer, between lockgw and PostgreSQL, through which messages do not arrive: "+
	"set backend.postgres.listen_url to an address of the same database that goes to PostgreSQL itself", backend.ErrRefused)

// pooler is why nothing new is granted where messages cannot arrive.
func (l *listener) pooler() error {
	if errors.Is(l.Trouble(), errPooler) {
		return errPooler
	}
	return nil
}

// listen makes a connection and reads from it until it breaks.
func (l *listener) listen(ctx context.Context) error {
	connecting, cancel := context.WithTimeout(ctx, 2*silence)
	defer cancel()
	if err := l.t.prepared.Do(connecting); err != nil {
		return err
	}
	c, err := pgconn.ConnectConfig(connecting, l.cfg)
	if err != nil {
		return notSent(err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = c.Close(closing) // it is not used any more
	}()
	direct, err := isDirect(connecting, c)
	switch {
	case err != nil:
		return outcome(err)
	case !direct:
		return errPooler
	}
	if _, err := c.Exec(connecting, "LISTEN "+quote(l.channel)).ReadAll(); err != nil {
		return outcome(err)
	}
	if err := l.t.requests.do(connecting, l.t.sql.hear, l.t.cfg.Node.ID, int64(c.PID())); err != nil {
		return l.t.noticed(err)
	}
	l.pid.Store(c.PID())
	l.Tried()
	l.BeatNow()
	// It may be another server now, or the same one that has forgotten.
	l.t.prepared.Again()
	l.to(ledger.Addressed{Message: ledger.Message{Node: l.t.cfg.Node.ID, Kind: ledger.Resync}})
	return l.read(ctx, c)
}

func (l *listener) read(ctx context.Context, c *pgconn.PgConn) error {
	for {
		waiting, cancel := context.WithTimeout(ctx, silence)
		err := c.WaitForNotification(waiting)
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return fmt.Errorf("nothing was heard for %v, not even what the gateway has sent to itself", silence)
		case err != nil:
			return outcome(err)
		}
	}
}

// notified takes what was heard.
func (l *listener) notified(payload string) {
	if payload == probe {
		l.Heard()
		return
	}
	if m, ok := parseMessage(payload, l.t.cfg.Node.ID); ok {
		l.to(m)
	}
}

// beat says that the node listens, and has it hear something.
func (l *listener) beat(ctx context.Context) error {
	pid := l.pid.Load()
	if pid == 0 {
		return nil
	}
	return l.t.noticed(l.t.requests.do(ctx, l.t.sql.beat, l.t.cfg.Node.ID, int64(pid), l.channel, probe))
}

// sweep deletes rows that nobody has used for so long.
func (t *Table) sweep(ctx context.Context, idle time.Duration) error {
	return t.noticed(t.requests.do(ctx, t.sql.sweep, idle.Seconds(), sweepMost))
}

// Ping implements ledger.Table. A server in quarantine is a backend.Later of an ErrPartly.
// Without messages waiters are served by timers only, so it asks for these, too.
func (t *Table) Ping(ctx context.Context) error {
	if err := t.prepare(ctx); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	err := t.decide(ctx)
	var later *backend.Later
	switch {
	case errors.As(err, &later):
		return &backend.Later{After: later.After, Err: fmt.Errorf("%w: %s", backend.ErrPartly, sqltable.Reason(later))}
	case err != nil:
		return fmt.Errorf("postgres: %w", err)
	}
	if err := t.listener.Wrong(); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	return nil
}
