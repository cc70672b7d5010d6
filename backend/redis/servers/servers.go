// Package servers knows where a store in Redis is: one server, the one that Sentinels name,
// or the masters of a cluster, and which of them keeps a key. It listens on them for
// messages to this node and for the releases of other programs. It decides nothing about
// locks, and trusts no message: one only ever causes a request.
package servers

import (
	"context"
	"errors"
	"log/slog"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend/redis/conn"
)

// Set is the servers that have the locks of a store: one server, the one that Sentinels name, or the
// masters of a cluster.
type Set interface {
	// Of returns the server that keeps key, as far as is known. Nothing was sent
	// there if there is an error.
	Of(ctx context.Context, key string) (*goredis.Client, error)
	// Part is the address of that server without waiting, "" where it is the only one.
	Part(ctx context.Context, key string) string
	// Slot tells which keys one script may use together.
	Slot(key string) int
	// Masters lists all servers, asking anew which they are, in a lasting order.
	Masters(ctx context.Context) ([]*goredis.Client, error)
	// Joined returns nil if c, one of them, serves the keys that it has.
	Joined(ctx context.Context, c *goredis.Client) error
	// Shares is how many slots each server has, by its address, as via knows; nil
	// where that is not known or means nothing.
	Shares(ctx context.Context, via *goredis.Client) map[string]int
	// Follow runs cmd, of which conn.ErrElsewhere was the answer, where it has to run.
	Follow(ctx context.Context, cmd *goredis.Cmd) error
	// Failed has it found out who serves in place of a server that did not answer.
	Failed(ctx context.Context)
	// Listen makes what listens to channel; watched says by which commands to watch.
	Listen(channel string, watched Publishing, log *slog.Logger) Subscriber
	// Close closes the connections. The Subscriber has to be closed before.
	Close() error
}

// Subscriber listens to the channel of this node, and to those that are watched for a while.
type Subscriber interface {
	// Start listens until Close. onMessage gets each message to this node; onResync is
	// called each time after which messages arrive, as one may have been missed before; onDeaf
	// each time that a server refuses the connection for them, or has taken none again and again
	// while it answers. None may block.
	Start(onMessage func(payload string), onResync, onDeaf func())
	// Watch has f called when channel is listened to and at each message there, until
	// Unwatch was called as often. f must not block.
	Watch(channel string, f func())
	// Unwatch ends one Watch.
	Unwatch(channel string)
	// Deaf says why messages published now on c, one of the masters, may not arrive; nil:
	// they will, as far as the last probe tells.
	Deaf(c *goredis.Client) error
	// ProbeAge is how long ago messages were last known to arrive; very long if never.
	ProbeAge() time.Duration
	// Close stops listening; no function is called afterwards.
	Close()
}

// single is one server, or the one that Sentinels name at the time of connecting.
type single struct{ *goredis.Client }

func (s single) Of(context.Context, string) (*goredis.Client, error) { return s.Client, nil }

func (s single) Part(context.Context, string) string { return "" }

func (s single) Slot(string) int { return 0 }

func (s single) Masters(context.Context) ([]*goredis.Client, error) {
	return []*goredis.Client{s.Client}, nil
}

func (s single) Joined(context.Context, *goredis.Client) error { return nil }

func (s single) Shares(context.Context, *goredis.Client) map[string]int { return nil }

func (s single) Follow(context.Context, *goredis.Cmd) error { return errors.ErrUnsupported }

func (s single) Failed(context.Context) {}

func (s single) Listen(channel string, watched Publishing, log *slog.Logger) Subscriber {
	h := newSubscriber(s.Client, channel, log)
	h.watched = watched
	return h
}

// Open reads backend.url and returns what makes clients for it; password as in package conn.
func Open(rawurl string, password func() string) (func() Set, error) {
	one, all, err := conn.Open(rawurl, password)
	if all != nil {
		return func() Set { return &cluster{ClusterClient: all()} }, err
	}
	return func() Set { return single{one()} }, err
}
