package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/dialer"
)

// conn is one session with ZooKeeper, over one TCP connection after the other.
//
// The library reconnects by itself, but waits for ever for an answer that does not come,
// and begins another session when this one has expired. So calls are given up from outside,
// and a conn is closed with its session.
type conn struct {
	z *zk.Conn
	a address

	// given is the timeout that the servers have granted, in milliseconds.
	given atomic.Int32

	mu      sync.Mutex // guards the fields below
	tcp     net.Conn   // nil: there is none
	up      bool       // the session goes over tcp
	why     error      // of the last round in which no member could be reached; nil: there is hope
	last    error      // of the last attempt
	next    int        // member
	tried   int        // members since the last session
	changed chan struct{}
	closed  bool
	over    chan struct{} // closed when the session has expired, or the conn was closed
}

// connect begins a session. It does not wait for a member to be there.
func connect(a address, session time.Duration) (*conn, error) {
	c := &conn{a: a, next: rand.IntN(len(a.Members)), changed: make(chan struct{}), over: make(chan struct{})}
	c.mu.Lock() // the library tells nothing before z is there
	defer c.mu.Unlock()
	var err error
	c.z, _, err = zk.Connect(a.Members, session, zk.WithDialer(c.dial), zk.WithHostProvider(members{c}),
		zk.WithEventCallback(c.event), zk.WithLogger(silent{}), zk.WithLogInfo(false))
	return c, err
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// members gives them in turn. Names are looked up at every attempt.
type members struct{ *conn }

// Init implements zk.HostProvider, as do the others.
func (members) Init([]string) error { return nil }

func (m members) Len() int { return len(m.a.Members) }

func (m members) Next() (server string, around bool) {
	m.change(func() {
		if around = m.tried == m.Len(); around {
			m.tried, m.why = 0, m.last
		}
		m.tried++
		m.next = (m.next + 1) % m.Len()
		server = m.a.Members[m.next]
	})
	return server, around
}

func (m members) Connected() { m.change(func() { m.tried = 0 }) }

func (c *conn) change(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	close(c.changed)
	c.changed = make(chan struct{})
}

// event is told what becomes of the session.
func (c *conn) event(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	switch e.State {
	case zk.StateHasSession:
		c.change(func() { c.up, c.why = true, nil })
	case zk.StateDisconnected, zk.StateConnecting:
		c.change(func() {
			c.up = false
			if c.last == nil {
				c.last = errors.New("the server has ended the connection, or does not answer")
			}
		})
	case zk.StateExpired:
		go c.close()
	}
}

// dial connects to a member. The first answer on a connection has the timeout of the session,
// which the library does not tell.
func (c *conn) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	tcp, err := dialer.New(timeout).DialContext(context.Background(), network, addr)
	if err == nil && c.a.TLS != nil {
		ctx, cancel := context.WithTimeout(context.Background(), max(timeout, dialTime))
		defer cancel()
		if tcp, err = dialer.Secured(ctx, tcp, addr, c.a.TLS.Config()); err != nil {
			err = fmt.Errorf("TLS with %s: %w", addr, err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last = err; err != nil {
		return nil, err
	}
	if c.closed {
		_ = tcp.Close()
		return nil, net.ErrClosed
	}
	if c.tcp != nil {
		_ = c.tcp.Close()
	}
	c.tcp = inOrder(tcp, &c.given, c.a.User != "")
	return c.tcp, nil
}

// dialTime bounds a handshake, and the wait for the first answer: the library has a second for
// the one, which is short for a server that has just started, and minutes for the other.
const dialTime = 3 * time.Second

// timeout of the session.
func (c *conn) timeout() time.Duration { return time.Duration(c.given.Load()) * time.Millisecond }

// cut ends the connection, because nothing is heard by it. The session goes on over another.
func (c *conn) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tcp != nil {
		_ = c.tcp.Close()
	}
	c.last = errors.New("the server does not answer")
}

// abandon closes the conn and leaves the session to expire.
func (c *conn) abandon() {
	c.shut()
	c.cut()
	go c.z.Close() // which tells the server nothing any more, but waits for its answer
}

// close ends the session.
func (c *conn) close() {
	c.shut()
	c.z.Close()
	c.cut()
}

func (c *conn) shut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		close(c.over)
	}
}

// wait waits for the session to be connected. An error says that nothing was sent.
func (c *conn) wait(ctx context.Context) error {
	for {
		c.mu.Lock()
		up, why, last, changed, closed := c.up, c.why, c.last, c.changed, c.closed
		c.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return backend.NotSent("given up before it was sent to ZooKeeper: " + ctx.Err().Error())
		case closed:
			return backend.NotSent("the session with ZooKeeper is over")
		case up:
			return nil
		case why != nil:
			return unreachable(why)
		}
		select {
		case <-changed:
		case <-c.over:
		case <-ctx.Done():
			return unreachable(last)
		}
	}
}

func unreachable(why error) error {
	if why == nil {
		return backend.ErrUnreachable
	}
	return fmt.Errorf("%w: zookeeper: %s", backend.ErrUnreachable, why.Error())
}

// do has the library do f, which goes on when ctx has ended.
func do[T any](ctx context.Context, c *conn, f func(*zk.Conn) (T, error)) (T, error) {
	var none T
	if err := c.wait(ctx); err != nil {
		return none, err
	}
	type answer struct {
		v   T
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		v, err := f(c.z)
		answers <- answer{v, err}
	}()
	select {
	case a := <-answers:
		return a.v, outcome(a.err)
	case <-ctx.Done():
		return none, fmt.Errorf("%w: ZooKeeper has not answered in time", backend.ErrUnavailable)
	}
}
