// Package accept accepts the connections of HTTP, with TLS or without. It counts each on the
// account of its client, and notices requests that state their length in two ways.
package accept

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"

	"golang.org/x/time/rate"

	"github.com/lockgw/lockgw/session/peer"
)

// Config is how connections are let in. The zero value is without TLS and log.
type Config struct {
	Descriptors *peer.Descriptors
	TLS         *tls.Config // nil: none
	Log         *slog.Logger
	// Refuse tells a client, without TLS, why its connection is closed before a request is
	// read. head: it was a HEAD, as far as was read, so the answer has no body. Nil: nobody
	// does.
	Refuse func(c net.Conn, why error, head bool)
	// Restate has the answer that is sent in place of one that net/http makes by itself, to
	// what is no HTTP; nil: b is no such answer. head: it may be to a HEAD. Nil: there is none.
	Restate func(b []byte, head bool) []byte
}

// On accepts the connections of ln. Each is counted on the account of its client; with TLS it
// is accepted when its handshake is done. Of finds the Conn of a connection. On closes ln.
func (l Config) On(ln net.Listener) net.Listener {
	l.Descriptors, l.Log = cmp.Or(l.Descriptors, peer.NewDescriptors()), cmp.Or(l.Log, slog.New(slog.DiscardHandler))
	out := &listener{Listener: ln, Config: l}
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
	Config
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.accept()
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (l *listener) accept() (*Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			l.Descriptors.RefuseAll(err)
			if peer.Full(err) {
				err = passing{err}
			}
			return nil, err
		}
		owner, fd := peer.OwnerOf(c), peer.Number(c)
		use, err := l.Descriptors.Take(owner, fd)
		if err != nil {
			use = l.Descriptors.Squeeze(owner, fd, err, func() { _ = c.Close() })
		}
		if use != nil {
			return &Conn{Conn: c, kernel: c, use: use, restate: l.Restate}, nil
		}
		if l.TLS == nil && l.Refuse != nil {
			l.Refuse(c, err, false)
		}
		_ = c.Close()
	}
}

// passing is an error of accept after which net/http accepts again, a moment later. By itself
// it takes only some errors for such.
type passing struct{ error }

func (e passing) Unwrap() error { return e.error }
func (passing) Timeout() bool   { return false }
func (passing) Temporary() bool { return true }
