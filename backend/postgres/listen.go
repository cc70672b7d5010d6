package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// silence is how long nothing may be heard before the connection is made anew: a lost message
// must not cost more than 5 s.
const silence = sqltable.BeatPeriod + 2*time.Second

// probe is the message of a gateway to itself. No kind of message is called so.
const probe = "probe"

// neverIdle has the server not end the session because it only listens, or has no request for a moment,
// where the server knows of that (PostgreSQL 14).
const neverIdle = "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'; "

// listener hears the messages to the node, on a connection of its own.
type listener struct {
	t       *Table
	server  *server
	channel string
	pid     atomic.Uint32 // of the backend that listens; 0: there is none
}

func newListener(t *Table, node string, at *server) *listener {
	l := &listener{t: t, server: at, channel: channelPrefix + node}
	at.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { l.notified(n.Payload) }
	return l
}

var errPooler = fmt.Errorf("%w: there is a pooler, such as PgBouncer, between lockgw and PostgreSQL, through which messages do not arrive: "+
	"set backend.postgres.listen_url to an address of the same database that goes to PostgreSQL itself", backend.ErrRefused)

// pooler is why nothing new is granted where messages cannot arrive.
func (l *listener) pooler() error {
	if errors.Is(l.t.Ear.Trouble(), errPooler) {
		return errPooler
	}
	return nil
}

func (l *listener) listen(ctx context.Context) (listened bool, err error) {
	err = l.hear(ctx)
	return l.pid.Swap(0) != 0, err
}

// hear makes a connection and reads from it until it breaks.
func (l *listener) hear(ctx context.Context) error {
	connecting, cancel := context.WithTimeout(ctx, 2*silence)
	defer cancel()
	if err := l.t.Prepare(connecting); err != nil {
		return err
	}
	c, err := l.server.connect(connecting)
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
	if _, err := c.Exec(connecting, neverIdle+"LISTEN "+quote(l.channel)).ReadAll(); err != nil {
		return outcome(err)
	}
	if err := l.t.requests.do(connecting, hearSQL, l.t.Node(), int64(c.PID())); err != nil {
		return l.t.noticed(err)
	}
	l.pid.Store(c.PID())
	l.t.Listens()
	return l.read(ctx, c)
}

func (l *listener) read(ctx context.Context, c *pgconn.PgConn) error {
	for {
		waiting, cancel := context.WithTimeout(ctx, silence)
		err := c.WaitForNotification(waiting)
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return cmp.Or(l.t.Ear.Unsaid(), fmt.Errorf("nothing was heard for %v, not even what the gateway has sent to itself", silence))
		case err != nil:
			return outcome(err)
		}
	}
}

// notified takes what was heard.
func (l *listener) notified(payload string) {
	if payload == probe {
		l.t.Ear.Heard()
		return
	}
	if m, ok := parseMessage(payload, l.t.Node()); ok {
		l.t.Deliver(m)
	}
}

// ProbeAge is how long ago messages from PostgreSQL were last known to arrive.
func (t *Table) ProbeAge() time.Duration { return t.Ear.Age() }

// beat says that the node listens, and has it hear something.
func (l *listener) beat(ctx context.Context) error {
	pid := l.pid.Load()
	if pid == 0 {
		return nil
	}
	return l.t.noticed(l.t.requests.do(ctx, beatSQL, l.t.Node(), int64(pid), l.channel, probe))
}

// sweep goes on as long as there are more rows than go at once, and ctx lasts.
func (t *Table) sweep(ctx context.Context, idle time.Duration) error {
	for gone := int64(sqltable.SweepMost); gone == sqltable.SweepMost; {
		rows, err := t.rows(ctx, sweepSQL, idle.Seconds(), sqltable.SweepMost)
		if err != nil {
			return err
		}
		gone = 0
		for _, row := range rows {
			gone = sqltable.NewReader(row).Number()
		}
	}
	return nil
}
