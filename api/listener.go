package api

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"

	"golang.org/x/time/rate"

	"github.com/lockgw/lockgw/session/peer"
)

// Listening is how connections are let in. The zero value is without TLS and log.
type Listening struct {
	Descriptors *peer.Descriptors
	TLS         *tls.Config // nil: none
	Log         *slog.Logger
}

// Listen has a server of NewServer accept connections of ln: each on the account of who
// has made it, and with TLS only when its handshake is done. A client for which there is
// no descriptor to spare may ask for /livez, and is else told so. It closes ln.
func (l Listening) Listen(ln net.Listener) net.Listener {
	l.Descriptors, l.Log = cmp.Or(l.Descriptors, peer.NewDescriptors()), cmp.Or(l.Log, slog.New(slog.DiscardHandler))
	out := &listener{Listener: ln, Listening: l}
	if l.TLS == nil {
		return out
	}
	s := &secureListener{listener: out, ready: make(chan accepted), noise: quiet{sometimes: rate.Sometimes{First: 3, Interval: noiseEvery}}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	go s.run()
	return s
}

type listener struct {
	net.Listener
	Listening
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.accept()
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (l *listener) accept() (*conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			l.Descriptors.RefuseAll(err)
			return nil, err
		}
		owner, fd := peer.OwnerOf(c), peer.Number(c)
		use, err := l.Descriptors.Take(owner, fd)
		if err != nil {
			use = l.Descriptors.Squeeze(owner, fd, err, func() { _ = c.Close() })
		}
		if use != nil {
			return &conn{Conn: c, kernel: c, use: use}, nil
		}
		if l.TLS == nil {
			writeFull(c, err)
		}
		_ = c.Close()
	}
}
