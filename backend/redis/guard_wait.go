package redis

import (
	"context"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
)

// waitForReplica is how long a grant waits for a replica.
const waitForReplica = 400 * time.Millisecond

// ReplicaRemedy is what to do where GuardWait finds no replica.
const ReplicaRemedy = "connect a replica, or set backend.redis.guard to quarantine"

// hasReplica returns nil if a replica answers, without which no grant will stand.
func hasReplica(ctx context.Context, c *goredis.Client) error {
	n, err := c.Do(ctx, "WAIT", 1, waitForReplica.Milliseconds()).Int()
	switch {
	case err != nil:
		return outcome(err)
	case n < 1:
		return fmt.Errorf("no replica answers, and with backend.redis.guard: wait each grant is refused without one; %s", ReplicaRemedy)
	default:
		return nil
	}
}

// replicated returns nil once a replica has all that c's server did until now.
func replicated(ctx context.Context, c *goredis.Client, key string) error {
	pipe := c.Pipeline()
	pipe.Set(ctx, key, "1", time.Second) // WAIT waits for what its own connection wrote
	acks := pipe.Do(ctx, "WAIT", 1, waitForReplica.Milliseconds())
	if _, err := pipe.Exec(ctx); err != nil {
		return outcome(err)
	}
	if n, err := acks.Int(); err != nil || n < 1 {
		return fmt.Errorf("%w: no replica of Redis has taken the grant over within %v (backend.redis.guard: wait); %s",
			backend.ErrRefused, waitForReplica, ReplicaRemedy)
	}
	return nil
}

// replicate returns nil once a replica has the grant a, which is undone otherwise. One
// that was confirmed stays, and is confirmed again.
func (b *Backend) replicate(ctx context.Context, r backend.Request, a backend.Answer) error {
	raw := b.cfg.KeyPrefix + r.Name
	c, err := b.servers.of(ctx, raw)
	if err == nil {
		err = replicated(ctx, c, keysOf(raw).floor+"replica")
	}
	if err == nil || r.Seq == 0 {
		return err
	}
	undo := backend.Request{Name: r.Name, Slot: r.Slot, Seq: r.Seq, Attempt: r.Seq, Hold: a.Hold}
	if failed := b.Cancel(ctx, undo); failed != nil {
		return fmt.Errorf("%w; nor could it be undone: %w", err, failed)
	}
	return err
}
