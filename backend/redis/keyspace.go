package redis

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
)

const (
	keyspaceMemory  = time.Minute // the setting may be changed
	keyspaceTimeout = 500 * time.Millisecond
)

// keyspace knows whether Redis tells what becomes of a key. A program that locks by
// a string key, as SET NX PX makes it, tells nobody of its release; Redis does, if
// notify-keyspace-events is set so. That is the server's business and never changed
// here.
type keyspace struct {
	mu    sync.Mutex // guards the fields below
	asked time.Time
	tells bool
}

// announced is the channel on which the release of the holder that a tells of will
// be heard; "" if it is none outside lockgw.
func (b *Backend) announced(ctx context.Context, name string, a backend.Answer) string {
	if !a.Queued || !a.Holder.Foreign {
		return ""
	}
	raw := b.cfg.KeyPrefix + name
	// In a cluster each server tells of its own keys alone.
	if server, ok := b.servers.(single); ok && a.Holder.Owner == "" {
		channel := fmt.Sprintf("__keyspace@%d__:%s", server.Options().DB, raw)
		if b.keyspace.heard(ctx, server.Client, channel) {
			return channel
		}
	}
	return keysOf(raw).channel
}

// heard: what becomes of the key will be heard on channel, as far as was known when
// it was asked last.
func (k *keyspace) heard(ctx context.Context, c *goredis.Client, channel string) bool {
	k.mu.Lock()
	known, tells := time.Since(k.asked) < keyspaceMemory, k.tells
	k.mu.Unlock()
	if known {
		return tells
	}
	tells = mayTell(ctx, c) && maySubscribe(ctx, c, channel)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked, k.tells = time.Now(), tells
	return tells
}

// mayTell: the server is set to tell, or does not let us ask. In that case a
// subscription to silence costs little.
func mayTell(ctx context.Context, c *goredis.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, keyspaceTimeout)
	defer cancel()
	set, err := c.ConfigGet(ctx, notifySetting).Result()
	return err != nil || tellsOfKeys(set[notifySetting])
}

// maySubscribe tries it on a connection of its own: a refusal would end the one on
// which the hub hears everything else.
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

const notifySetting = "notify-keyspace-events"

// tellsOfKeys: channels of keys (K), of DEL among the commands of all types (g) or of
// everything (A).
func tellsOfKeys(flags string) bool {
	return strings.Contains(flags, "K") && strings.ContainsAny(flags, "gA")
}

// checkNotifications is for those who share names with programs that lock by a
// string key; nobody else needs the setting, so it is never wrong.
func checkNotifications(f serverFacts) Finding {
	switch flags, told := f.config[notifySetting]; {
	case !told:
		return Finding{}
	case tellsOfKeys(flags):
		return Finding{OK, "notifications", notifySetting + " is " + flags + ": the release of a lock by SET NX PX is heard at once", ""}
	default:
		return Finding{
			OK, "notifications",
			notifySetting + " is without K and g: a lock that another program takes by SET NX PX is waited for until its lease is over", "",
		}
	}
}
