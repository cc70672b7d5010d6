package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/redis/servers"
)

// This file is what package examine asks of a Table beyond what a gateway
// does.

// Survey is the servers of a store at one time.
type Survey struct {
	Masters []*goredis.Client // those that answer
	Lacking error             // what is wrong with the others; nil: nothing
}

// Survey pings all masters. If none answers, it returns an error.
func (t *Table) Survey(ctx context.Context) (Survey, error) {
	all, err := t.servers.Masters(ctx)
	if err != nil {
		return Survey{}, err
	}
	h, err := t.health(ctx, all, func(c *goredis.Client) error { return conn.Outcome(c.Ping(ctx).Err()) })
	if err != nil {
		return Survey{}, err
	}
	s := Survey{Lacking: h.err()}
	for i, c := range all {
		if h.wrong[i] == nil {
			s.Masters = append(s.Masters, c)
		}
	}
	return s, nil
}

// Home is the server that keeps the lock called name.
func (t *Table) Home(ctx context.Context, name string) (*goredis.Client, error) {
	return t.servers.Of(ctx, t.cfg.KeyPrefix+name)
}

// Channels are those on which a gateway that waits for a lock listens.
type Channels struct {
	Node           string // messages to this gateway
	Redisson       string // where programs that use Redisson tell of a release
	Plain, Sharded bool   // Redisson is listened to by SUBSCRIBE, by SSUBSCRIBE
}

// Channels are those of a gateway that waits for the lock called name.
func (t *Table) Channels(name string) Channels {
	return Channels{
		Node: channelOfNode + t.cfg.Node.ID, Redisson: channelOf(t.cfg.KeyPrefix + name),
		Plain: t.publish.Plain(), Sharded: t.publish.Sharded(),
	}
}

// ProbePrefix begins a message by which a node finds out whether it hears itself.
const ProbePrefix = servers.ProbePrefix
