package redis

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/servers"
)

const (
	keyspaceMemory  = time.Minute // the setting may be changed
	keyspaceTimeout = 500 * time.Millisecond
)

// keyspace knows which servers tell what becomes of a key. A program that locks by
// a string key, as SET NX PX makes it, tells nobody of its release; Redis does, if
// notify-keyspace-events is set so. That is the server's business and never changed
// here. In a cluster each server tells of its own keys, and on its own alone.
type keyspace struct {
	mu    sync.Mutex // guards the field below
	known map[*goredis.Client]told
}

// told is what a server has said, and when.
type told struct {
	at   time.Time
	does bool
}

// releases is the channel on which the release of name by owner, which is no gateway, will
// be heard. A program that locks by a string key has no owner.
func (t *Table) releases(ctx context.Context, name string, owner backend.Owner) string {
	raw := t.cfg.KeyPrefix + name
	if server, err := t.servers.Of(ctx, raw); err == nil && owner == "" {
		channel := servers.KeyspaceChannel(server.Options().DB, raw)
		if t.keyspace.heard(ctx, server, channel) {
			return channel
		}
	}
	return channelOf(raw)
}

// heard: what becomes of the key will be heard on channel, as far as was known when
// it was asked last.
func (k *keyspace) heard(ctx context.Context, c *goredis.Client, channel string) bool {
	k.mu.Lock()
	last := k.known[c]
	k.mu.Unlock()
	if time.Since(last.at) < keyspaceMemory {
		return last.does
	}
	does := mayTell(ctx, c) && maySubscribe(ctx, c, channel)
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.known, func(_ *goredis.Client, t told) bool { return time.Since(t.at) >= keyspaceMemory })
	k.known[c] = told{time.Now(), does}
	return does
}

// mayTell: the server is set to tell, or does not let us ask. In that case a
// subscription to silence costs little.
func mayTell(ctx context.Context, c *goredis.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, keyspaceTimeout)
	defer cancel()
	set, err := c.ConfigGet(ctx, NotifySetting).Result()
	return err != nil || TellsOfKeys(set[NotifySetting])
}

// maySubscribe tries it on a connection of its own: a refusal would end the one on
// which the subscriber hears everything else.
func maySubscribe(ctx context.Context, c *goredis.Client, channel string) bool {
	ctx, cancel := context.WithTimeout(ctx, keyspaceTimeout)
	defer cancel()
	ps := c.Subscribe(ctx)
	defer ps.Close()
	if err := ps.Subscribe(ctx, channel); err != nil {
		return false
	}
	_, err := ps.ReceiveTimeout(ctx, keyspaceTimeout)
	return err == nil
}

// NotifySetting is the setting of a server that TellsOfKeys reads.
const NotifySetting = "notify-keyspace-events"

// TellsOfKeys reports whether a server with these flags tells of keys (K), of DEL among
// the commands of all types (g) or of everything (A).
func TellsOfKeys(flags string) bool {
	return strings.Contains(flags, "K") && strings.ContainsAny(flags, "gA")
}
