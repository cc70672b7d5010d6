package accept

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// handshakeTimeout bounds a TLS handshake, as ReadHeaderTimeout does what follows.
const handshakeTimeout = 5 * time.Second

// secureListener runs handshakes concurrently, because a client can make its own take long.
type secureListener struct {
	*listener
	ready  chan accepted
	ctx    context.Context // done when it is closed
	cancel context.CancelFunc
	noise  quiet // of handshakes that fail
}

type accepted struct {
	c   net.Conn
	err error
}

// Accept implements net.Listener.
func (l *secureListener) Accept() (net.Conn, error) {
	select {
	case a := <-l.ready:
		return a.c, a.err
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *secureListener) Close() error {
	defer l.cancel()
	return l.listener.Close()
}

func (l *secureListener) run() {
	for {
		c, err := l.accept()
		if err == nil {
			go l.secure(c)
			continue
		}
		if !l.hand(accepted{err: err}) || errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

func (l *secureListener) hand(a accepted) bool {
	select {
	case l.ready <- a:
		return true
	case <-l.ctx.Done():
		return false
	}
}

func (l *secureListener) secure(c *Conn) {
	t := tls.Server(c.kernel, l.TLS)
	_ = c.kernel.SetDeadline(time.Now().Add(handshakeTimeout)) // the handshake fails otherwise
	if err := t.HandshakeContext(l.ctx); err != nil {
		l.noise.warn(l.Log, "a TLS handshake failed", "remote", c.RemoteAddr().String(), "err", l.answerPlain(err))
		_ = c.Close()
		return
	}
	_ = c.kernel.SetDeadline(time.Time{})
	c.Conn = t
	if !l.hand(accepted{c: secureConn{c}}) {
		_ = c.Close()
	}
}

// ErrPlain is why a client that speaks HTTP without TLS is refused.
var ErrPlain = errors.New("the client sent an HTTP request to an HTTPS server")

// answerPlain tells a client that speaks HTTP without TLS what is wrong, and returns why the
// handshake failed.
func (l *secureListener) answerPlain(err error) error {
	var bad tls.RecordHeaderError
	if !errors.As(err, &bad) || bad.Conn == nil {
		return err
	}
	switch method := string(bad.RecordHeader[:]); method {
	case "GET /", "HEAD ", "POST ", "PUT /", "DELET", "OPTIO":
		if l.Refuse != nil {
			l.Refuse(bad.Conn, ErrPlain, method == "HEAD ")
		}
		return ErrPlain
	}
	return err
}

// quiet logs events that strangers can cause as often as they like. It logs one now and then,
// with their number since the last time.
type quiet struct {
	sometimes rate.Sometimes
	unlogged  atomic.Int64
}

// noiseEvery is how often.
const noiseEvery = 10 * time.Second

func (q *quiet) warn(log *slog.Logger, msg string, args ...any) {
	q.unlogged.Add(1)
	q.sometimes.Do(func() {
		if more := q.unlogged.Swap(0) - 1; more > 0 {
			args = append(args, "unlogged_before", more)
		}
		log.Warn(msg, args...)
	})
}
