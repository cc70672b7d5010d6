package conn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/dialer"
	"github.com/lockgw/lockgw/backend/eager"
	"github.com/lockgw/lockgw/backend/resplimit"
)

// Dialer connects so that a peer which vanishes without a word is noticed in
// seconds; see package dialer. config is asked at each connection; nil: there is no TLS.
func Dialer(timeout time.Duration, config func() *tls.Config) func(context.Context, string, string) (net.Conn, error) {
	d := dialer.New(timeout)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		c, err := d.DialContext(ctx, network, addr)
		if err == nil && config != nil {
			c, err = dialer.Secured(ctx, c, addr, config())
		}
		if op := new(net.OpError); config != nil && errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &op) {
			err = fmt.Errorf("%s does not answer in TLS; is it a port without TLS, for redis:// and not rediss://?: %w", addr, err)
		}
		if err != nil {
			return nil, err
		}
		c = eager.Store(c)
		return socket(resplimit.Conn(&greeting{Conn: c}), c), nil
	}
}

// stream is another name, for what embeds a syscall.Conn as well.
type stream = net.Conn

// socket is c, which is around inner, and lets the client library see whether the socket of that was
// closed, if it is one.
func socket(c, inner net.Conn) net.Conn {
	s, ok := inner.(syscall.Conn)
	if !ok {
		return c
	}
	return struct {
		stream
		syscall.Conn
	}{c, s}
}

// New makes a client with options of its own.
func New(opt *goredis.Options) *goredis.Client {
	own := *opt
	c := goredis.NewClient(&own)
	c.AddHook(newDialHook())
	return c
}

// dialHook marks the errors of connecting: nothing was sent then, whatever the
// reason, be it a Sentinel that does not know the master. It knows the connections of its client.
type dialHook struct{ lines *lines }

func newDialHook() dialHook { return dialHook{&lines{open: map[*line]struct{}{}}} }

func (h dialHook) DialHook(next goredis.DialHook) goredis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := next(ctx, network, addr)
		if err != nil {
			return nil, fmt.Errorf("%w: %s", backend.ErrUnreachable, dialFailure(err))
		}
		return h.lines.add(c), nil
	}
}

func (h dialHook) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if ctx.Value(anew{}) != nil {
			h.lines.end()
			return nil
		}
		return next(ctx, cmd)
	}
}

func (dialHook) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// dialFailure says of Sentinels that do not know the master what is not known.
func dialFailure(err error) string {
	if errors.Is(err, goredis.Nil) {
		return "the Sentinels know no master of that name; see the path of the address"
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ") // of several Sentinels
}
