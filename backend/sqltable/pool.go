package sqltable

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockgw/lockgw/backend"
)

// Pool has requests use several connections.
type Pool[C any] struct {
	kind   Connections[C]
	free   chan struct{} // as many as connections may still be used; fewer for a while after makesDo
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu   sync.Mutex   // guards the fields below
	idle []*pooled[C] // the one used last at the end
	made int          // connections that there are, in use or idle
	age  int          // grows with each Reset
}

// fullFor is how long a Pool makes no connection more after the server had none to spare.
const fullFor = time.Second

// Connections says how a Pool gets along with those to its database.
type Connections[C any] struct {
	Product string // for people, such as PostgreSQL
	// Make makes one. The error is one of package backend.
	Make func(context.Context) (C, error)
	// Full: Make has failed because the server has no connection to spare, and requests wait for
	// those that there are. nil: they fail, for there is another way for them; so they do if there is
	// no connection after half of their time.
	Full func(error) bool
	// Alive: it can be used for a request, after it was idle for so long.
	Alive func(ctx context.Context, c C, idle time.Duration) bool
	// Keep: it can be used for another request.
	Keep func(C) bool
	End  func(C)
}

// Unmade tells whether err is that there was no connection for a request, which was not sent. The server has none to
// spare, its name cannot be looked up, or the password is another one by now; others that were made before may go on.
func Unmade(err error) bool {
	return errors.As(err, new(unmade)) || errors.Is(err, backend.ErrUnreachable)
}

// unmade is an error of getting a connection.
type unmade struct{ error }

func (u unmade) Unwrap() error { return u.error }

type pooled[C any] struct {
	c    C
	age  int
	used time.Time
}

// NewPool makes none yet of at most conns connections.
func NewPool[C any](kind Connections[C], conns int) *Pool[C] {
	p := &Pool[C]{kind: kind, free: make(chan struct{}, conns)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	for range conns {
		p.free <- struct{}{}
	}
	return p
}

// Close ends the connections that are not in use, and waits for those that are being made.
func (p *Pool[C]) Close() {
	p.cancel()
	p.Reset()
	p.wg.Wait()
	p.Reset()
}

// Reset has all connections made anew.
func (p *Pool[C]) Reset() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.age = nil, p.age+1
	p.mu.Unlock()
	for _, h := range idle {
		p.drop(h)
	}
}

// drop ends a connection.
func (p *Pool[C]) drop(h *pooled[C]) {
	p.mu.Lock()
	p.made--
	p.mu.Unlock()
	p.kind.End(h.c)
}

// With has f use a connection. An error of f is returned as it is; nothing was sent if the error
// is of getting a connection.
func (p *Pool[C]) With(ctx context.Context, f func(C) error) error {
	h, err := p.inTime(ctx)
	if err != nil {
		return unmade{err}
	}
	defer p.release(h)
	return f(h.c)
}

// inTime is acquire for as long as there is time.
func (p *Pool[C]) inTime(ctx context.Context) (*pooled[C], error) {
	if end, ok := ctx.Deadline(); ok && p.kind.Full == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	return p.acquire(ctx)
}

// acquire takes a connection, or makes one. Where the server has none to spare it waits for one of
// those that there are.
func (p *Pool[C]) acquire(ctx context.Context) (h *pooled[C], err error) {
	for {
		select {
		case <-p.free:
		case <-ctx.Done():
			if err == nil {
				err = fmt.Errorf("%w: no connection to %s was free in time", backend.ErrUnreachable, p.kind.Product)
			}
			return nil, err
		}
		for h = p.pop(); h != nil; h = p.pop() {
			if p.kind.Alive(ctx, h.c, time.Since(h.used)) {
				return h, nil
			}
			p.drop(h)
		}
		var again bool
		if h, again, err = p.dial(ctx); !again {
			return h, err
		}
	}
}

// makesDo takes back the place for a connection that could not be made. Where that was because the
// server has none to spare, and there is one to wait for, nobody tries again for a while.
func (p *Pool[C]) makesDo(why error) bool {
	places := 1
	p.mu.Lock()
	waits := p.kind.Full != nil && p.kind.Full(why) && p.made > 0
	for waits && len(p.free) > len(p.idle) {
		select {
		case <-p.free:
			places++
		default:
		}
	}
	p.mu.Unlock()
	back := func() {
		for range places {
			p.free <- struct{}{}
		}
	}
	if waits {
		time.AfterFunc(fullFor, back)
	} else {
		back()
	}
	return waits
}

func (p *Pool[C]) pop() *pooled[C] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	h := p.idle[len(p.idle)-1]
	p.idle = p.idle[:len(p.idle)-1]
	return h
}

// dial makes a connection. If that takes longer than ctx, which it does where the first of
// several hosts is silent, the next request gets it. again: it makesDo.
func (p *Pool[C]) dial(ctx context.Context) (h *pooled[C], again bool, err error) {
	type result struct {
		h   *pooled[C]
		err error
	}
	done := make(chan result, 1)
	p.wg.Go(func() {
		p.mu.Lock()
		age := p.age
		p.mu.Unlock()
		c, err := p.kind.Make(p.ctx)
		if err == nil {
			p.mu.Lock()
			p.made++
			p.mu.Unlock()
		}
		done <- result{&pooled[C]{c: c, age: age}, err}
	})
	select {
	case r := <-done:
		if r.err != nil {
			return nil, p.makesDo(r.err), r.err
		}
		return r.h, false, nil
	case <-ctx.Done():
		p.wg.Go(func() {
			if r := <-done; r.err == nil {
				p.release(r.h)
			} else {
				p.free <- struct{}{}
			}
		})
		return nil, false, fmt.Errorf("%w: %s does not take a connection", backend.ErrUnreachable, p.kind.Product)
	}
}

// release gives a connection back, unless it is of no use any more.
func (p *Pool[C]) release(h *pooled[C]) {
	h.used = time.Now()
	p.mu.Lock()
	keep := p.kind.Keep(h.c) && h.age == p.age && p.ctx.Err() == nil
	if keep {
		p.idle = append(p.idle, h)
	}
	p.mu.Unlock()
	if !keep {
		p.drop(h)
	}
	p.free <- struct{}{}
}
