package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

const (
	// beatPeriod is how often a gateway sends itself a message, over another connection than
	// that by which it listens: a pooler passes on those of the same one.
	beatPeriod = 2 * time.Second
	// silence is how long nothing may be heard before the connection is made anew: a lost
	// message must not cost more than 5 s.
	silence = beatPeriod + 2*time.Second
	// relisten is the least time between two connections for messages.
	relisten  = 300 * time.Millisecond
	sweepEach = 30 // beats
	sweepMost = 1000
	// unused is how long a row stays that nobody uses: longer than a request is under way.
	unused = time.Minute
)

// probe is the message of a gateway to itself. No kind of message is called so.
const probe = "probe"

// listener hears the messages to the node, on a connection of its own.
type listener struct {
	t       *Table
	cfg     *pgconn.Config
	channel string
	to      func(ledger.Addressed)
	pid     atomic.Uint32         // of the backend that listens; 0: there is none
	heard   atomic.Bool           // something, since the connection was made
	trouble atomic.Pointer[error] // why there is no connection
	beats   chan struct{}         // asks for a beat now
	tried   chan struct{}         // closed when the node listens, or could not the first time
	once    sync.Once             // closes tried
	started atomic.Bool           // Listen was called
}

func newListener(t *Table, cfg *pgconn.Config) *listener {
	l := &listener{t: t, cfg: cfg, channel: channelPrefix + t.cfg.Node.ID, beats: make(chan struct{}, 1), tried: make(chan struct{})}
	cfg.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { l.notified(n.Payload) }
	return l
}

// Listen implements ledger.Table.
func (t *Table) Listen(f func(ledger.Addressed)) {
	l := t.listener
	l.to = f
	l.started.Store(true)
	ctx, cancel := context.WithCancel(context.Background())
	stop := t.cancel
	t.cancel = func() {
		cancel()
		stop()
	}
	t.wg.Go(func() { l.run(ctx) })
	t.wg.Go(func() { l.beat(ctx) })
}

// run listens, over one connection after the other.
func (l *listener) run(ctx context.Context) {
	for wait := relisten; ctx.Err() == nil; {
		err := l.listen(ctx)
		l.once.Do(func() { close(l.tried) })
		if l.pid.Swap(0) != 0 { // it has listened
			wait = relisten
		}
		l.heard.Store(false)
		if ctx.Err() != nil {
			return
		}
		if was := l.trouble.Swap(&err); was == nil || (*was).Error() != err.Error() {
			l.t.cfg.Log.Warn("messages from PostgreSQL do not arrive; trying again", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, 5*time.Second)
	}
}

var errPooler = fmt.Errorf("%w: there is a pooler, such as PgBouncer, between lockgw and PostgreSQL, through which messages do not arrive: "+
	"set backend.postgres.listen_url to an address of the same database that goes to PostgreSQL itself", backend.ErrRefused)

// pooler is why nothing new is granted where messages cannot arrive.
func (l *listener) pooler() error {
	if err := l.trouble.Load(); err != nil && errors.Is(*err, errPooler) {
		return errPooler
	}
	return nil
}

// began waits until the node listens for the first time, or it is known that it cannot.
func (l *listener) began(ctx context.Context) error {
	if !l.started.Load() {
		return nil
	}
	select {
	case <-l.tried:
		return nil
	default:
	}
	select {
	case <-l.tried:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: PostgreSQL does not answer yet", backend.ErrUnreachable)
	}
}

// wrong is why messages do not arrive; nil: they do.
func (l *listener) wrong() error {
	switch err := l.trouble.Load(); {
	case l.heard.Load():
		return nil
	case err != nil:
		return *err
	default:
		return errors.New("it answers, but messages do not arrive")
	}
}

// listen makes a connection and reads from it until it breaks.
func (l *listener) listen(ctx context.Context) error {
	if err := l.t.prepareFirst(ctx); err != nil {
		return err
	}
	connecting, cancel := context.WithTimeout(ctx, 2*silence)
	defer cancel()
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
	l.once.Do(func() { close(l.tried) })
	l.beatNow()
	// It may be another server now, or the same one that has forgotten.
	l.t.prepared.done.Store(false)
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
		l.trouble.Store(nil)
		l.heard.Store(true)
		return
	}
	if m, ok := parseMessage(payload, l.t.cfg.Node.ID); ok {
		l.to(m)
	}
}

func (l *listener) beatNow() {
	select {
	case l.beats <- struct{}{}:
	default:
	}
}

// beat says again and again that the node listens, and sweeps.
func (l *listener) beat(ctx context.Context) {
	ticker := time.NewTicker(beatPeriod)
	defer ticker.Stop()
	for n := 1; ; {
		select {
		case <-ctx.Done():
			return
		case <-l.beats:
		case <-ticker.C:
			n++
		}
		pid := l.pid.Load()
		if pid == 0 {
			continue
		}
		asked, cancel := context.WithTimeout(ctx, beatPeriod)
		err := l.t.requests.do(asked, l.t.sql.beat, l.t.cfg.Node.ID, int64(pid), l.channel, probe)
		if err == nil && n%sweepEach == 0 {
			n++
			err = l.t.sweep(asked, unused)
		}
		cancel()
		if err != nil && ctx.Err() == nil {
			l.t.cfg.Log.Debug("PostgreSQL does not take the sign of life of this gateway", "err", l.t.noticed(err))
		}
	}
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
	err := t.trust.decide(ctx)
	var later *backend.Later
	switch {
	case errors.As(err, &later):
		return &backend.Later{After: later.After, Err: fmt.Errorf("%w: %s", backend.ErrPartly, reason(later))}
	case err != nil:
		return fmt.Errorf("postgres: %w", err)
	}
	if err := t.listener.wrong(); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	return nil
}
