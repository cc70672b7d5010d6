package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lockgw/lockgw/api/accept"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/peer"
)

// Listening is how connections are let in. The zero value is without TLS and log.
type Listening struct {
	Descriptors *peer.Descriptors
	TLS         *tls.Config // nil: none
	Log         *slog.Logger
}

// Listen has a server of NewServer accept the connections of ln. Each is counted on the
// account of its client; with TLS it is accepted when its handshake is done. When there is no
// file descriptor to spare, a client may ask for /livez alone, and other requests are
// refused. Listen closes ln.
func (l Listening) Listen(ln net.Listener) net.Listener {
	return accept.Config{Descriptors: l.Descriptors, TLS: l.TLS, Log: l.Log, Refuse: writeFull}.On(ln)
}

// checkConn looks at the connection of the request. It has the connection closed if no
// other request may follow on it.
func checkConn(w http.ResponseWriter, r *http.Request) error {
	c := connectionOf(r.Context()).shared
	if c == nil {
		return nil
	}
	twoLengths, crowded := c.Begin(), c.Crowded()
	if crowded != nil || len(r.TransferEncoding) > 0 {
		w.Header().Set("Connection", "close")
	}
	switch {
	case crowded != nil && r.URL.EscapedPath() != "/livez":
		return crowded
	case twoLengths:
		return session.Invalid("Content-Length", "was sent together with Transfer-Encoding, or not as one short line; a body has one length, so send one of them")
	case c.Coded() && !r.ProtoAtLeast(1, 1):
		return session.Invalid("Transfer-Encoding", "is not for HTTP/1.0; send the body with its Content-Length, or by HTTP/1.1")
	default:
		return nil
	}
}

// watch has the context of c's request end when its client hangs up, also where net/http does
// not see that. It is for requests that may take long.
func watch(c *gin.Context) {
	if shared := connectionOf(c.Request.Context()).shared; shared != nil {
		ctx, gone := context.WithCancel(c.Request.Context())
		shared.Watch(ctx, gone)
		c.Request = c.Request.WithContext(ctx)
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
