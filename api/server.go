package api

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

// Limits of a request. The router sees none that is beyond them.
const (
	maxBody    = 64 << 10
	maxHeaders = 16 << 10
	maxURL     = 2 << 10
)

// NewServer makes a server for any number of listeners, over TCP, TLS or Unix
// sockets. It has no WriteTimeout, because waits and streams are long: each
// answer has a deadline of its own.
func NewServer(h *Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    maxHeaders,
		ConnContext:       h.connContext,
		ErrorLog:          slog.NewLogLogger(h.Log.Handler(), slog.LevelWarn),
		// otherwise OPTIONS * is a 200
		DisableGeneralOptionsHandler: true,
	}
}

// origin is what is known of the connection of a request.
type origin struct {
	conn     net.Conn
	accepted time.Duration // on CLOCK_BOOTTIME
	unix     bool
	peer     session.Peer
	err      error         // why peer is not known
	by       access.Caller // before anything was sent
}

type originKey struct{}

func (h *Handler) connContext(ctx context.Context, c net.Conn) context.Context {
	o := origin{
		conn: c, accepted: session.Boottime(), unix: c.LocalAddr().Network() == "unix", peer: session.NoPeer(),
	}
	if o.unix && h.PeerOf != nil {
		if peer, err := h.PeerOf(c); err != nil {
			o.err = err
		} else {
			o.peer = peer
		}
	}
	o.by = access.Of(c, o.peer)
	return context.WithValue(ctx, originKey{}, o)
}

// originOf takes a connection of which nothing is known for one over TCP, which
// may do less.
func originOf(ctx context.Context) origin {
	if o, ok := ctx.Value(originKey{}).(origin); ok {
		return o
	}
	return origin{peer: session.NoPeer()}
}
