package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/conn"
)

// Eviction is what a Redis server does when its memory is full.
type Eviction struct {
	MaxMemory uint64 // bytes; 0: no limit
	Policy    string // maxmemory-policy; "": the server does not say
	Server    string // which of a cluster's; "": there is one alone
}

// Eviction asks the server, of a cluster each master, and returns the answer of the
// worst. The zero Eviction is that of a server which forbids the question; an error
// means that none has answered. One that does not answer grants nothing either, and is
// asked when it is back.
func (t *Table) Eviction(ctx context.Context) (Eviction, error) {
	masters, err := t.servers.Masters(ctx)
	if err != nil {
		return Eviction{}, err
	}
	all := make([]*Eviction, len(masters)) // nil: no answer
	err = conn.Each(masters, func(i int, c *goredis.Client) error {
		said, err := evictionOf(ctx, c)
		if err != nil {
			return err
		}
		if len(masters) > 1 && said.Err() != nil {
			said.Server = c.Options().Addr
		}
		all[i] = &said
		return nil
	})
	all = slices.DeleteFunc(all, func(e *Eviction) bool { return e == nil })
	if len(all) == 0 {
		return Eviction{}, err
	}
	return *slices.MaxFunc(all, func(a, b *Eviction) int { return cmp.Compare(a.rank(), b.rank()) }), nil
}

// Err says that the server may drop locks, why and how to mend it; nil if it does
// not, or does not say. All keys of a lock have a ttl, so that each policy but
// noeviction may choose them.
func (e Eviction) Err() error {
	if e.MaxMemory == 0 || e.Policy == "" || e.Policy == "noeviction" {
		return nil
	}
	which := "this Redis"
	if e.Server != "" {
		which = "the Redis at " + e.Server
	}
	return fmt.Errorf("%s may drop locks when its memory is full, for maxmemory is %d and maxmemory-policy is %s: %s",
		which, e.MaxMemory, e.Policy, EvictionRemedy)
}

// EvictionRemedy is what to do about an Eviction with an Err.
const EvictionRemedy = "run CONFIG SET maxmemory-policy noeviction there, and put it into its configuration file, or use a Redis for locks alone"

// rank is larger for what is worse.
func (e Eviction) rank() int {
	switch {
	case e.Err() != nil:
		return 2
	case e.Policy == "":
		return 1
	default:
		return 0
	}
}

// keeps returns an error if c, the server with id, is one of several that vote, and may drop what it
// has promised and accepted: then it takes no part in anything, nor for a while when it may not any more.
func (t *Table) keeps(ctx context.Context, c *goredis.Client, id string) error {
	if !t.cfg.Voter {
		return nil
	}
	said, err := evictionOf(ctx, c)
	if err != nil {
		return notAsked(err)
	}
	if err := said.Err(); err != nil {
		t.guard.mayDrop(ctx, c, id)
		return fmt.Errorf("%w: %w", backend.ErrRefused, err)
	}
	return nil
}

func evictionOf(ctx context.Context, c goredis.Cmdable) (Eviction, error) {
	said, err := conn.ReadInfo(ctx, c, "memory")
	if err != nil && !conn.Forbidden(err) {
		return Eviction{}, conn.Outcome(err)
	}
	limit, policy := said["maxmemory"], said["maxmemory_policy"]
	if policy == "" {
		if said, err = c.ConfigGet(ctx, "maxmemory*").Result(); err != nil && !conn.Forbidden(err) {
			return Eviction{}, conn.Outcome(err)
		}
		limit, policy = said["maxmemory"], said["maxmemory-policy"]
	}
	n, err := strconv.ParseUint(limit, 10, 64)
	if err != nil {
		return Eviction{}, nil
	}
	return Eviction{MaxMemory: n, Policy: policy}, nil
}
