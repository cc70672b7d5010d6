package redis

import (
	"fmt"
	"log/slog"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/redis/servers"
)

// site is the servers of a store as one node sees them, what it listens to there, and
// what it knows of them.
type site struct {
	cfg        Config
	servers    servers.Set
	renewals   servers.Set // of their own: a busy pool must not starve them
	publish    servers.Publishing
	channel    string // of this node
	subscriber servers.Subscriber
	guard      *guard
	keyspace   keyspace
}

// openSite does not wait for Redis to be there. Errors are of the configuration.
func openSite(cfg Config, channel string) (*site, error) {
	connect, err := servers.Open(cfg.URL, cfg.Password)
	if err != nil {
		return nil, err
	}
	publish, err := servers.ReadPublishing(cfg.Publish, conn.Clustered(cfg.URL))
	if err != nil {
		return nil, err
	}
	if err := backend.CheckKeyPrefix(cfg.KeyPrefix); err != nil {
		return nil, fmt.Errorf("backend.key_prefix: %w", err)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	goredis.SetLogger(clientLog{cfg.Log}) // for the whole process; it has one gateway
	s := &site{cfg: cfg, servers: connect(), renewals: connect(), publish: publish, channel: channel}
	s.keyspace.known = map[*goredis.Client]told{}
	s.guard = newGuard(cfg.Guard, cfg.Lease, cfg.GuardFile, cfg.Log)
	s.subscriber = s.servers.Listen(channel, publish, cfg.Log)
	return s, nil
}

// ProbeAge is how long ago messages from Redis were last known to arrive; very long
// if they never were.
func (s *site) ProbeAge() time.Duration { return s.subscriber.ProbeAge() }
