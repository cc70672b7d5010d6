package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
)

// node is one of the Redis servers.
type node struct {
	addr     string
	client   *goredis.Client
	renewals *goredis.Client // of their own: a busy pool must not starve them
	memory   memory
	found    func(context.Context) // marks all nodes if they are new
	log      *slog.Logger
}

func newNode(o *goredis.Options, maxTTL time.Duration, found func(context.Context), log *slog.Logger) *node {
	alone := *o
	return &node{
		addr: o.Addr, client: goredis.NewClient(o), renewals: goredis.NewClient(&alone), found: found, log: log,
		memory: memory{maxTTL: maxTTL},
	}
}

// run runs a script about one name. The outcome is a vote.
func (n *node) run(ctx context.Context, s *goredis.Script, m message) vote {
	v, err := s.Run(ctx, n.client, m.keys, m.args...).Result()
	if err != nil {
		return vote{n: n, err: n.outcome(err)}
	}
	a, ok := v.([]any)
	if !ok || len(a) == 0 {
		return vote{n: n, err: fmt.Errorf("%s: a script answered %v, which it never does", n.addr, v)}
	}
	return vote{n: n, reply: a}
}

// failure of one node. kind is of package backend and decides; the words are about
// the cause.
type failure struct {
	addr        string
	kind, cause error
}

func (f *failure) Error() string   { return fmt.Sprintf("%s: %v", f.addr, f.cause) }
func (f *failure) Unwrap() []error { return []error{f.kind, f.cause} }

// outcome turns an error of go-redis into one of package backend.
func (n *node) outcome(err error) error {
	var reply goredis.Error
	var dial *net.OpError
	switch {
	case errors.Is(err, goredis.ErrClosed):
		return &failure{n.addr, backend.ErrRefused, errors.New("the connection is closed")}
	case errors.Is(err, goredis.ErrPoolTimeout):
		return &failure{n.addr, backend.ErrRefused, errors.New("no connection was free in time")}
	case errors.As(err, &dial) && dial.Op == "dial":
		return &failure{n.addr, backend.ErrUnreachable, dial.Err}
	case errors.As(err, &reply): // of a script that has not run, for all check before they write
		return &failure{n.addr, backend.ErrRefused, err}
	default:
		return &failure{n.addr, backend.ErrUnavailable, err}
	}
}

// words of what several nodes have said, in one line.
func words(errs []error) string {
	var all []string
	for _, err := range errs {
		if err != nil {
			all = append(all, err.Error())
		}
	}
	return strings.Join(all, "; ")
}

// ping says why the node cannot serve requests now; nil if it can.
func (n *node) ping(ctx context.Context) error {
	if err := n.client.Ping(ctx).Err(); err != nil {
		return n.outcome(err)
	}
	if err := cmp.Or(n.memory.whyNot(), n.memory.deaf()); err != nil {
		return fmt.Errorf("%s: %w", n.addr, err)
	}
	return nil
}

func (n *node) close() error { return errors.Join(n.client.Close(), n.renewals.Close()) }
