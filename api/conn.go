package api

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/peer"
)

// conn is a connection of which net/http sees all that it needs: r.TLS, too.
type conn struct {
	net.Conn          // what is read and written: the kernel's, or TLS over it
	kernel   net.Conn // the kernel's
	use      *peer.Use
	frames   frames
	requests atomic.Int64 // that were handled, the present one included
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.frames.read(b[:n])
	return n, err
}

// Close implements net.Conn.
func (c *conn) Close() error {
	defer c.use.Release()
	return c.Conn.Close()
}

// CloseWrite is what net/http looks for, so that a client can read why it was refused.
func (c *conn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

// secureConn is a conn whose handshake is done.
type secureConn struct{ *conn }

// ConnectionState is where net/http has r.TLS from.
func (c secureConn) ConnectionState() tls.ConnectionState {
	return c.Conn.(*tls.Conn).ConnectionState()
}

// connOf is the conn that Listen has made of c; nil: somebody else has.
func connOf(c net.Conn) *conn {
	switch c := c.(type) {
	case *conn:
		return c
	case secureConn:
		return c.conn
	default:
		return nil
	}
}

// checkConn looks at the connection by which the request has come. It closes one after
// which nothing may follow.
func checkConn(w http.ResponseWriter, r *http.Request) error {
	c := connectionOf(r.Context()).shared
	if c == nil {
		return nil
	}
	n, ambiguous := c.requests.Add(1), c.frames.ambiguous.Load()
	crowded := c.use.Crowded()
	if crowded != nil || len(r.TransferEncoding) > 0 {
		w.Header().Set("Connection", "close")
	}
	switch {
	case crowded != nil && r.URL.EscapedPath() != "/livez":
		return crowded
	case ambiguous != 0 && n >= ambiguous:
		return session.Invalid("Content-Length", "was sent together with Transfer-Encoding; a body has one length, so send one of them")
	default:
		return nil
	}
}

// writeFull tells a client without TLS, of whom nothing was read yet, why its connection
// is closed.
func writeFull(c net.Conn, why error) {
	p := problemOf(why)
	p.RequestID = rand.Text()
	body := encode(p)
	answer := http.Response{
		StatusCode: p.Status, ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header: http.Header{"Content-Type": {"application/problem+json"}, "Retry-After": {"1"}, requestIDHeader: {p.RequestID}},
		Body:   io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	_ = c.SetWriteDeadline(time.Now().Add(time.Second)) // an answer fits into the buffer of a new connection
	_ = answer.Write(c)                                 // nobody to be told
}
