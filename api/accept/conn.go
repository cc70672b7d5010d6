package accept

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/session/peer"
)

// Conn is a connection of which net/http sees all that it needs: r.TLS, too.
type Conn struct {
	net.Conn          // what is read and written: the kernel's, or TLS over it
	kernel   net.Conn // the kernel's
	use      *peer.Use
	restate  func([]byte, bool) []byte // see Config
	frames   frames
	requests atomic.Int64 // that were handled, the present one included

	mu      sync.Mutex // guards the fields below
	ahead   bool       // something was sent before the request before it was answered
	watched *watched   // nil: nothing, or it is watched already
}

// watched is a request that ends when its client is gone.
type watched struct {
	ctx  context.Context
	gone func()
}

// Read implements net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.frames.read(b[:n])
	if n > 0 && len(b) == 1 { // net/http looks for a hang-up, and looks no more
		c.sentAhead()
	}
	return n, err
}

// Write implements net.Conn.
func (c *Conn) Write(b []byte) (int, error) {
	if c.restate != nil {
		if instead := c.restate(b, c.mayBeHead()); instead != nil {
			_, err := c.Conn.Write(instead)
			return len(b), err
		}
	}
	return c.Conn.Write(b)
}

// mayBeHead tells whether a request that no handler has got yet is a HEAD. Of several it does not
// tell which: what is behind a request that is no HTTP is not answered.
func (c *Conn) mayBeHead() bool { return c.frames.head.Load() > c.requests.Load() }

// Watch calls gone when the client hangs up before ctx is done, if net/http does not see that:
// it does not read on when a client has sent something behind its request.
func (c *Conn) Watch(ctx context.Context, gone func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched = &watched{ctx, gone}
	c.lookLocked()
}

func (c *Conn) sentAhead() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = true
	c.lookLocked()
}

func (c *Conn) lookLocked() {
	if w := c.watched; c.ahead && w != nil {
		c.watched = nil
		go c.look(w)
	}
}

// lookEvery is how often it is looked whether a client is gone that net/http does not watch.
const lookEvery = 250 * time.Millisecond

func (c *Conn) look(w *watched) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for w.ctx.Err() == nil && !peer.HungUp(c.kernel) {
		select {
		case <-w.ctx.Done():
		case <-t.C:
		}
	}
	w.gone()
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	defer c.use.Release()
	return c.Conn.Close()
}

// CloseWrite is what net/http looks for, so that a client can read why it was refused.
func (c *Conn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// secureConn is a Conn whose handshake is done.
type secureConn struct{ *Conn }

// ConnectionState is where net/http has r.TLS from.
func (c secureConn) ConnectionState() tls.ConnectionState {
	return c.Conn.Conn.(*tls.Conn).ConnectionState()
}

// Of is the Conn that Config.On has made of c; nil: somebody else has made it.
func Of(c net.Conn) *Conn {
	switch c := c.(type) {
	case *Conn:
		return c
	case secureConn:
		return c.Conn
	default:
		return nil
	}
}

// Kernel is the connection of the kernel, under TLS.
func (c *Conn) Kernel() net.Conn { return c.kernel }

// Account is the account on which the connection is counted.
func (c *Conn) Account() string { return c.use.Account() }

// Identify counts the connection on the account of as, once that is known.
func (c *Conn) Identify(as peer.Owner) error { return c.use.Identify(as) }

// Crowded is the error for a client that connected when no file descriptor was to spare, nil
// for every other client.
func (c *Conn) Crowded() error { return c.use.Crowded() }

// Coded tells whether the request that began last was sent with Transfer-Encoding. net/http
// does not tell that of HTTP/1.0, where it takes the body for the next request.
func (c *Conn) Coded() bool { return c.frames.coded.Load() == c.requests.Load() }

// Begin counts a request. twoLengths: this request or one before it states its length in two
// ways, or in one that may be read in two.
func (c *Conn) Begin() (twoLengths bool) {
	n, ambiguous := c.requests.Add(1), c.frames.ambiguous.Load()
	return ambiguous != 0 && n >= ambiguous
}
