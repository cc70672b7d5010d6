package run

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// fake is a gateway that does what a test says. It knows one session, which holds what
// was locked.
type fake struct {
	mu    sync.Mutex // guards the fields below
	conns []*fakeConnection
	holds []client.Hold
	lease time.Duration // what each reading finds left; 0: readings are not answered
	ahead time.Duration // of the clock, which is another one than that of the run
	asked []client.LockOptions
	given []string // the names unlocked
	// patience is how long the last request with such a bound waits for its answer.
	patience time.Duration
	endless  []string // those besides Lock and Unlock that wait for their answer for as long as it takes

	refuse   error                        // of a dial
	dialed   func(o client.Options) error // likewise; may change what comes next
	session  error                        // of Session
	bind     error
	lock     func(name string, o client.LockOptions) error
	unlocked map[string]error
}

func newFake(*testing.T) *fake { return &fake{} }

// fakeConnection is one connection to it.
type fakeConnection struct {
	*fake
	options client.Options
	done    chan struct{}
	once    sync.Once
}

func (f *fake) connection(o client.Options) *fakeConnection {
	return &fakeConnection{fake: f, options: o, done: make(chan struct{})}
}

func (f *fake) dial(_ context.Context, o client.Options) (gateway, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse != nil {
		return nil, f.refuse
	}
	if f.dialed != nil {
		if err := f.dialed(o); err != nil {
			return nil, err
		}
	}
	c := f.connection(o)
	f.conns = append(f.conns, c)
	return c, nil
}

// newest is the connection that was made last.
func (f *fake) newest() *fakeConnection {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.conns[len(f.conns)-1]
}

func (f *fake) dials() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.conns)
}

// set changes what it does.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (c *fakeConnection) BindSession(ctx context.Context, _ int) (client.Token, error) {
	c.bounded(ctx, "bind")
	return "token", c.bind
}

func (c *fakeConnection) Show(ctx context.Context, _ int) error {
	c.bounded(ctx, "show")
	return nil
}

func (c *fakeConnection) bounded(ctx context.Context, what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := ctx.Deadline(); !ok {
		c.endless = append(c.endless, what)
	}
}

func (c *fakeConnection) Session(ctx context.Context) (client.SessionInfo, error) {
	c.bounded(ctx, "session")
	c.mu.Lock()
	silent, err := c.lease == 0, c.session
	info := client.SessionInfo{UUID: "u", Token: "token"}
	for _, h := range c.holds {
		h.Left, h.Deadline = c.lease, session.Boottime()+c.ahead+c.lease
		info.Holds = append(info.Holds, h)
	}
	c.mu.Unlock()
	if silent && err == nil {
		select {
		case <-ctx.Done():
			return client.SessionInfo{}, ctx.Err()
		case <-c.done:
			return client.SessionInfo{}, c.Err()
		}
	}
	return info, err
}

func (c *fakeConnection) Lock(ctx context.Context, name string, o client.LockOptions) (client.Hold, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, o)
	if until, bounded := ctx.Deadline(); bounded {
		c.patience = time.Until(until)
	}
	if c.lock != nil {
		if err := c.lock(name, o); err != nil {
			return client.Hold{}, err
		}
	}
	h := client.Hold{Name: name, State: client.Held, Owner: "u:1", Fence: uint64(len(c.asked)), Left: c.lease, Deadline: session.Boottime() + c.lease}
	c.holds = append(c.holds, h)
	return h, nil
}

func (c *fakeConnection) Unlock(_ context.Context, name string, _ client.UnlockOptions) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.Err(); err != nil {
		return 0, err
	}
	c.given = append(c.given, name)
	return 0, c.unlocked[name]
}

func (c *fakeConnection) Info(ctx context.Context, _ string) (client.Status, error) {
	c.bounded(ctx, "info")
	return client.Status{}, nil
}

func (c *fakeConnection) Done() <-chan struct{} { return c.done }

func (c *fakeConnection) Err() error {
	select {
	case <-c.done:
		return errors.New("connection ended")
	default:
		return nil
	}
}

func (c *fakeConnection) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}
