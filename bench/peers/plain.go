// Package peers locks without a gateway: as one does it by hand, and by other libraries.
package peers

import (
	"context"
	"strconv"
	"time"

	"github.com/bsm/redislock"
	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/bench/callers"
	"github.com/lockgw/lockgw/bench/rig"
)

// The classic: a key of its holder's own making, deleted by nobody else.
var compareAndDelete = goredis.NewScript(`-- KEYS: lock  ARGV: value
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0`)

// Trivial is what a request costs that does nothing.
var Trivial = goredis.NewScript(`return 1`)

// Shared makes a crew that shares one client of Redis, with its pool.
func Shared(addr string, caller func(c *goredis.Client, i int) callers.Op) func(n int) (callers.Crew, error) {
	return func(n int) (callers.Crew, error) {
		client := rig.RedisClient(addr)
		c := callers.Crew{Close: client.Close}
		for i := range n {
			c.Ops = append(c.Ops, caller(client, i))
		}
		return c, nil
	}
}

// Scripts are round trips of a script that does nothing.
func Scripts(c *goredis.Client, _ int) callers.Op {
	return func() error { return Trivial.Run(context.Background(), c, nil).Err() }
}

// PlainPair is SET NX PX and a compare-and-delete. While the name is taken it
// asks again every so often.
func PlainPair(name func(int) string, every time.Duration) func(c *goredis.Client, i int) callers.Op {
	return func(c *goredis.Client, i int) callers.Op {
		key, value := "plain:"+name(i), strconv.Itoa(i)
		return func() error {
			ctx := context.Background()
			for {
				ok, err := c.SetNX(ctx, key, value, callers.TTL).Result()
				if err != nil {
					return err
				}
				if ok {
					break
				}
				<-time.After(every)
			}
			return compareAndDelete.Run(ctx, c, []string{key}, value).Err()
		}
	}
}

// RedislockPair is bsm/redislock, which asks again every so often.
func RedislockPair(name func(int) string, every time.Duration) func(c *goredis.Client, i int) callers.Op {
	return func(c *goredis.Client, i int) callers.Op {
		locks, key := redislock.New(c), "redislock:"+name(i)
		return func() error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			l, err := locks.Obtain(ctx, key, callers.TTL, &redislock.Options{RetryStrategy: redislock.LinearBackoff(every)})
			if err != nil {
				return err
			}
			return l.Release(ctx)
		}
	}
}
