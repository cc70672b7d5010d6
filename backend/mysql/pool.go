package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/sqltable"
)

// pool sends requests over several connections.
type pool struct{ *sqltable.Pool[*conn] }

func full(err error) bool { return is(err, noneToSpare...) }

func (t *Table) newPool(conns int, full func(error) bool) *pool {
	return &pool{sqltable.NewPool(sqltable.Connections[*conn]{
		Product: product,
		Make:    t.connect,
		Full:    full,
		Alive: func(ctx context.Context, c *conn, _ time.Duration) bool {
			// The driver looks, before the next request, whether the server has closed it.
			return c.Conn.(driver.SessionResetter).ResetSession(ctx) == nil
		},
		Keep: func(c *conn) bool { return !c.broken && c.Conn.(driver.Validator).IsValid() },
		End:  func(c *conn) { _ = c.Close() }, // it is not used any more
	}, conns)}
}

// connect makes a connection to the first host that serves, and notices if that has begun anew.
func (t *Table) connect(ctx context.Context) (*conn, error) {
	before := t.count.Load()
	c, err := connectFirst(ctx, t.hosts.hosts)
	if err == nil {
		t.counted(before, c.server.identity, c.server.counted)
	}
	return c, err
}

// connectFirst makes a connection to the first of hosts that serves. An error is why none does:
// of one that has answered, if there is such a one.
func connectFirst(ctx context.Context, hosts []*mysql.Config) (*conn, error) {
	var answered error
	var silent []string
	for _, h := range hosts {
		c, err := connect(ctx, h)
		if err == nil {
			return c, nil
		}
		if err = notSent(err); !errors.Is(err, backend.ErrUnreachable) {
			answered = err
			continue
		}
		silent = append(silent, strings.TrimPrefix(err.Error(), backend.ErrUnreachable.Error()+": "))
	}
	if answered != nil {
		return nil, answered
	}
	return nil, fmt.Errorf("%w: %s", backend.ErrUnreachable, strings.Join(silent, "; "))
}

// with has f use a connection. What the driver could not send over one that the server has
// closed is sent over another one.
func (p *pool) with(ctx context.Context, f func(*conn) error) error {
	for {
		err := p.With(ctx, f)
		if !errors.Is(err, driver.ErrBadConn) || ctx.Err() != nil {
			return outcome(err)
		}
	}
}

// query sends statements over any connection.
func (p *pool) query(ctx context.Context, sql string, args ...any) (got []sqltable.Rows, err error) {
	err = p.with(ctx, func(c *conn) (err error) {
		got, err = c.query(ctx, sql, args...)
		return err
	})
	return got, err
}

// do sends one statement over any connection.
func (p *pool) do(ctx context.Context, sql string, args ...any) error {
	return p.with(ctx, func(c *conn) error {
		_, _, err := c.exec(ctx, sql, args...)
		return err
	})
}
