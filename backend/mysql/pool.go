package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/go-sql-driver/mysql"

	"github.com/lockgw/lockgw/backend"
)

// pool sends requests over several connections.
type pool struct {
	hosts  []*mysql.Config
	free   chan struct{} // as many as connections may still be used
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu   sync.Mutex // guards the fields below
	idle []*conn    // the one used last at the end
	age  int        // grows with each reset
}

func newPool(hosts []*mysql.Config, conns int) *pool {
	p := &pool{hosts: hosts, free: make(chan struct{}, conns)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for range conns {
		p.free <- struct{}{}
	}
	return p
}

// close ends the connections that are not in use, and waits for those that are being made.
func (p *pool) close() {
	p.cancel()
	p.reset()
	p.wg.Wait()
	p.reset()
}

// reset has all connections made anew.
func (p *pool) reset() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.age = nil, p.age+1
	p.mu.Unlock()
	for _, c := range idle {
		_ = c.Close() // it is not used any more
	}
}

// acquire takes a connection, or makes one. Nothing was sent if there is an error.
func (p *pool) acquire(ctx context.Context) (*conn, error) {
	select {
	case <-p.free:
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: no connection to MySQL was free in time", backend.ErrRefused)
	}
	for c := p.pop(); c != nil; c = p.pop() {
		// The driver looks, before the next request, whether the server has closed it.
		if c.Conn.(driver.SessionResetter).ResetSession(ctx) == nil {
			return c, nil
		}
		_ = c.Close()
	}
	return p.dial(ctx)
}

func (p *pool) pop() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	c := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return c
}

// dial makes a connection. If that takes longer than ctx, which it does where the first of
// several hosts is silent, the next request gets it.
func (p *pool) dial(ctx context.Context) (*conn, error) {
	type result struct {
		c   *conn
		err error
	}
	done := make(chan result, 1)
	p.wg.Go(func() {
		c, err := p.connect(p.ctx)
		done <- result{c, err}
	})
	select {
	case r := <-done:
		if r.err != nil {
			p.free <- struct{}{}
			return nil, notSent(r.err)
		}
		return r.c, nil
	case <-ctx.Done():
		p.wg.Go(func() {
			if r := <-done; r.err == nil {
				p.release(r.c)
			} else {
				p.free <- struct{}{}
			}
		})
		return nil, fmt.Errorf("%w: MySQL does not take a connection", backend.ErrUnreachable)
	}
}

// connect tries one host after the other.
func (p *pool) connect(ctx context.Context) (*conn, error) {
	p.mu.Lock()
	age := p.age
	p.mu.Unlock()
	c, err := connectFirst(ctx, p.hosts)
	if err == nil {
		c.age = age
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

// release gives a connection back, unless it is of no use any more.
func (p *pool) release(c *conn) {
	p.mu.Lock()
	keep := !c.broken && c.age == p.age && p.ctx.Err() == nil && c.Conn.(driver.Validator).IsValid()
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		_ = c.Close()
	}
	p.free <- struct{}{}
}

// with has f use a connection. What the driver could not send over one that the server has
// closed is sent over another one.
func (p *pool) with(ctx context.Context, f func(*conn) error) error {
	for {
		c, err := p.acquire(ctx)
		if err != nil {
			return err
		}
		err = f(c)
		p.release(c)
		if !errors.Is(err, driver.ErrBadConn) || ctx.Err() != nil {
			return outcome(err)
		}
	}
}

// query sends statements over any connection.
func (p *pool) query(ctx context.Context, sql string, args ...any) (got []rows, err error) {
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
