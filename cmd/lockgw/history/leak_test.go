package history_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/cmd/lockgw/history"
)

// clean waits until nothing is left of the callers.
func (r *rig) clean() []history.Violation {
	var left []string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if left = append(r.keysLeft(), r.gatewaysLeft()...); len(left) == 0 {
			return nil
		}
	}
	slices.Sort(left)
	return []history.Violation{{Rule: "leak", Text: "left behind: " + strings.Join(left, "; ")}}
}

// keysLeft are the keys in Redis that should not be there when nobody holds or
// waits. Fence counters stay for a while, and so does the place in a queue of a
// gateway that was killed: it ends by itself, and is passed over until then.
func (r *rig) keysLeft() (left []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := r.redis.Client()
	defer c.Close()
	keys, err := c.Keys(ctx, "*").Result()
	if err != nil {
		return []string{err.Error()}
	}
	channels := c.PubSubChannels(ctx, "lockgw:node:*").Val()
	for _, k := range keys {
		last := strings.HasPrefix(k, "lockgw:") && strings.HasSuffix(k, ":f")
		floor := strings.HasPrefix(k, "lockgw:") && strings.Contains(k, "}:r:")
		ends := c.PTTL(ctx, k).Val() > 0
		switch {
		case ends && (strings.HasPrefix(k, "redisson_lock_token:") || last || floor):
		case strings.HasPrefix(k, "lockgw:guard:"): // of the server, not of a name
		case ends && !alive(queued(ctx, c, k), channels):
		default:
			left = append(left, k+content(ctx, c, k))
		}
	}
	return left
}

// content of a key, if it is a hash: it says whose it was.
func content(ctx context.Context, c *goredis.Client, key string) (text string) {
	for field, value := range c.HGetAll(ctx, key).Val() {
		text += fmt.Sprintf(" %s=%q", field, value)
	}
	return text
}

// queued are the contenders in one of the two keys of a queue; another key has
// "", which no channel is without.
func queued(ctx context.Context, c *goredis.Client, key string) []string {
	switch {
	case !strings.HasPrefix(key, "lockgw:"):
		return []string{""}
	case strings.HasSuffix(key, "}:q"):
		return c.ZRange(ctx, key, 0, -1).Val()
	case strings.HasSuffix(key, "}:w"):
		return c.HKeys(ctx, key).Val()
	default:
		return []string{""}
	}
}

// alive: one of the contenders is of a node that listens.
func alive(contenders, channels []string) bool {
	for _, c := range contenders {
		for _, channel := range channels {
			if strings.Contains(channel, c) {
				return true
			}
		}
	}
	return false
}

// gatewaysLeft is what the gateways still have.
func (r *rig) gatewaysLeft() (left []string) {
	const spare = 45 // connections to Redis that are kept for later
	for i, g := range r.gateways {
		g.HTTP.CloseIdleConnections()
		if n := g.Descriptors(); n > r.base[i]+spare {
			left = append(left, fmt.Sprintf("%d descriptors of %s, %d at the start", n, g.Name, r.base[i]))
		}
		if info := r.info(g); !strings.Contains(info, "holds:0\r\nwaiters:0\r\n") {
			left = append(left, g.Name+" counts "+info)
		}
	}
	return left
}

// info is what the gateway counts.
func (r *rig) info(g *gateway) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	d, err := openSocket(ctx, g)
	if err != nil {
		return err.Error()
	}
	defer d.close()
	v, err := d.do(ctx, "INFO")
	if err != nil {
		return err.Error()
	}
	_, counts, _ := strings.Cut(fmt.Sprint(v), "# Lockgw\r\n")
	return counts
}
