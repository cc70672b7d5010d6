package main

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/bsm/redislock"
	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis"
)

const ttl = 30 * time.Second

// The classic: a key of its holder's own making, deleted by nobody else.
var compareAndDelete = goredis.NewScript(`-- KEYS: lock  ARGV: value
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0`)

// trivial is what a request costs that does nothing.
var trivial = goredis.NewScript(`return 1`)

// shared makes a crew that shares one client of Redis, with its pool.
func shared(addr string, caller func(c *goredis.Client, i int) op) func(n int) (crew, error) {
	return func(n int) (crew, error) {
		client := redisClient(addr)
		c := crew{close: client.Close}
		for i := range n {
			c.ops = append(c.ops, caller(client, i))
		}
		return c, nil
	}
}

func scripts(c *goredis.Client, _ int) op {
	return func() error { return trivial.Run(context.Background(), c, nil).Err() }
}

// plainPair is SET NX PX and a compare-and-delete. While the name is taken it
// asks again every so often.
func plainPair(name func(int) string, every time.Duration) func(c *goredis.Client, i int) op {
	return func(c *goredis.Client, i int) op {
		key, value := "plain:"+name(i), strconv.Itoa(i)
		return func() error {
			ctx := context.Background()
			for {
				ok, err := c.SetNX(ctx, key, value, ttl).Result()
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

func redislockPair(name func(int) string, every time.Duration) func(c *goredis.Client, i int) op {
	return func(c *goredis.Client, i int) op {
		locks, key := redislock.New(c), "redislock:"+name(i)
		return func() error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			l, err := locks.Obtain(ctx, key, ttl, &redislock.Options{RetryStrategy: redislock.LinearBackoff(every)})
			if err != nil {
				return err
			}
			return l.Release(ctx)
		}
	}
}

// storePairs are the two scripts of a lockgw pair as a gateway sends them, by
// package backend/redis, without the gateway.
func storePairs(url string) func(n int) (crew, error) {
	return func(n int) (crew, error) {
		b, err := redis.Open(context.Background(), redis.Config{
			URL: url, FenceTTL: time.Hour, Node: backend.Node{ID: "bench", Incarnation: uint64(time.Now().UnixMicro())},
		})
		if err != nil {
			return crew{}, err
		}
		b.Listen(func(backend.Hint) {})
		c := crew{close: b.Close}
		seq := new(atomic.Uint64)
		for i := range n {
			c.ops = append(c.ops, storePair(b, seq, "store:"+own(i)))
		}
		return c, nil
	}
}

func storePair(b backend.Backend, seq *atomic.Uint64, name string) op {
	owner := backend.Owner("3f2504e0-4f89-41d3-9a0c-0305e82c3301:1")
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		r := backend.Request{Name: name, Seq: seq.Add(1), Owner: owner, Count: 1, TTL: ttl, Turns: 64}
		a, err := b.Acquire(ctx, r)
		if err != nil || !a.Granted {
			return errors.Join(errors.New("not granted"), err)
		}
		_, err = b.Release(ctx, backend.Request{Name: name, Seq: seq.Add(1), Hold: a.Hold, Turn: a.Hold})
		return err
	}
}
