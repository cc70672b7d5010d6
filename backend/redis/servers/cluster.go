package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

// cluster is the masters of a Redis Cluster. go-redis keeps the map of them; the
// requests go to each master by a pipeline of its own, so that one which does not
// answer holds up nobody else's.
type cluster struct {
	*goredis.ClusterClient
	found atomic.Bool // go-redis has a map of it, and does not wait for one any more

	mu          sync.Mutex   // guards the field below
	subscribers *subscribers // nil before listen
}

func (c *cluster) Of(ctx context.Context, key string) (*goredis.Client, error) {
	client, err := c.MasterForKey(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("%w: which server of the Redis cluster has the lock: %w", backend.ErrUnreachable, err)
	}
	c.found.Store(true)
	return client, nil
}

func (c *cluster) Part(ctx context.Context, key string) string {
	if !c.found.Load() {
		return ""
	}
	client, err := c.Of(ctx, key)
	if err != nil {
		return ""
	}
	return client.Options().Addr
}

func (c *cluster) Slot(key string) int { return SlotOf(key) }

func (c *cluster) Masters(ctx context.Context) ([]*goredis.Client, error) {
	var mu sync.Mutex
	var all []*goredis.Client
	err := c.ForEachMaster(ctx, func(_ context.Context, one *goredis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, one)
		return nil
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: which servers the Redis cluster has: %w", backend.ErrUnreachable, err)
	case len(all) == 0:
		return nil, fmt.Errorf("%w: no server of the Redis cluster has any slot", backend.ErrRefused)
	}
	slices.SortFunc(all, func(a, b *goredis.Client) int { return cmp.Compare(a.Options().Addr, b.Options().Addr) })
	return all, nil
}

// Joined asks c, which takes no writes while it misses too much of the cluster.
func (c *cluster) Joined(ctx context.Context, one *goredis.Client) error {
	text, err := one.ClusterInfo(ctx).Result()
	switch {
	case err != nil && conn.Forbidden(err):
		return nil
	case err != nil:
		return conn.Outcome(err)
	case conn.InfoLines(text)["cluster_state"] == "fail":
		return errors.New("the Redis cluster is down as this server sees it (cluster_state:fail): bring its other servers back; " +
			"with cluster-require-full-coverage no on all of them the rest would serve without the part that is missing")
	}
	return nil
}

func (c *cluster) Shares(ctx context.Context, via *goredis.Client) map[string]int {
	asked := goredis.NewClusterSlotsCmd(ctx, "cluster", "slots") // as the client asks itself, so that this user may
	if via.Process(ctx, asked) != nil {
		return nil
	}
	n := map[string]int{}
	for _, r := range asked.Val() {
		if len(r.Nodes) > 0 {
			n[r.Nodes[0].Addr] += r.End - r.Start + 1
		}
	}
	return n
}

// Follow repeats cmd where a redirection says, and until its keys are in one place.
func (c *cluster) Follow(ctx context.Context, cmd *goredis.Cmd) error {
	c.Failed(ctx)
	return c.Process(ctx, cmd)
}

// Failed looks at the cluster anew, soon.
func (c *cluster) Failed(ctx context.Context) {
	c.ReloadState(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscribers != nil {
		c.subscribers.lookAgain()
	}
}

func (c *cluster) Listen(channel string, watched Publishing, log *slog.Logger) Subscriber {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribers = newSubscribers(c, channel, watched, log)
	return c.subscribers
}
