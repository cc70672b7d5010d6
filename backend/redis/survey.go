package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

// This file is what package examine asks of a Backend beyond what a gateway does.

// Survey is the servers of a Backend at one time.
type Survey struct {
	Masters []*goredis.Client // those that answer
	Lacking error             // what is wrong with the others; nil: nothing
}

// Survey pings all masters. If none answers, it returns an error.
func (b *Backend) Survey(ctx context.Context) (Survey, error) {
	all, err := b.servers.masters(ctx)
	if err != nil {
		return Survey{}, err
	}
	h := health{masters: all, wrong: make([]error, len(all))}
	err = conn.Each(all, func(i int, c *goredis.Client) error {
		h.wrong[i] = outcome(c.Ping(ctx).Err())
		return h.wrong[i]
	})
	if h.hopeless() {
		return Survey{}, err
	}
	var s Survey
	for i, c := range all {
		if h.wrong[i] == nil {
			s.Masters = append(s.Masters, c)
		}
	}
	h.shares = b.servers.shares(ctx, h.best())
	s.Lacking = h.err()
	return s, nil
}

// Home is the server that keeps the lock called name.
func (b *Backend) Home(ctx context.Context, name string) (*goredis.Client, error) {
	return b.servers.of(ctx, b.cfg.KeyPrefix+name)
}

// Channels are those on which a gateway that waits for a lock listens.
type Channels struct {
	Node           string // messages to this gateway
	Redisson       string // where programs that use Redisson tell of a release
	Plain, Sharded bool   // Redisson is listened to by SUBSCRIBE, by SSUBSCRIBE
}

// Channels are those of a gateway that waits for the lock called name.
func (b *Backend) Channels(name string) Channels {
	return Channels{
		Node: b.channel, Redisson: keysOf(b.cfg.KeyPrefix + name).channel,
		Plain: b.publish.plain(), Sharded: b.publish.sharded(),
	}
}

// ProbePrefix begins a message by which a node finds out whether it hears itself.
const ProbePrefix = probePrefix

// ParseHint reads a message to a node; ok is false if that is none of a lock.
func ParseHint(payload string) (h backend.Hint, ok bool) { return parseHint(payload) }

// Outcome turns an error of go-redis into one of package backend.
func Outcome(err error) error { return outcome(err) }

// RefusedLogin says that the server knows no such user and password, or wants one.
func RefusedLogin(err error) bool { return refusedLogin(err) }
