package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/bsm/redislock"
	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
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

// opener opens what a gateway asks the store by, for a node.
type opener func(node string) (ledger.Table, error)

func redisTable(url string) opener {
	return func(node string) (ledger.Table, error) {
		return redis.OpenTable(redis.Config{URL: url, Node: backend.Node{ID: node}})
	}
}

// requests are those of a lockgw pair as a gateway sends them, without the gateway.
func requests(open opener) func(n int) (crew, error) {
	return func(n int) (crew, error) {
		t, err := open(storeNode)
		if err != nil {
			return crew{}, err
		}
		t.Listen(func(ledger.Addressed) {})
		c := crew{close: t.Close}
		for i := range n {
			c.ops = append(c.ops, storePair(t, "store:"+own(i)))
		}
		return c, nil
	}
}

const storeNode = "bench"

// storePair takes name and gives it back. Its node knows what is there, as a gateway does
// that has used it before; first it has to look, as a record stays for a minute.
func storePair(t ledger.Table, name string) op {
	caller := ledger.Caller{Owner: "3f2504e0-4f89-41d3-9a0c-0305e82c3301:1", Entries: 1}
	var seen ledger.Reply
	looked := false
	return func() (err error) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if !looked {
			if seen, err = t.Look(ctx, name); err != nil {
				return err
			}
			looked = true
		}
		for _, do := range []ledger.Op{{Want: 1, Turns: 64, TTL: ttl, Callers: []ledger.Caller{caller}}, {Verb: ledger.Leave}} {
			do.Node = storeNode
			next, effects := ledger.Step(seen.Record, do, 0)
			r, err := t.Swap(ctx, ledger.Swap{Name: name, Base: seen.Version, Record: next, Effects: effects})
			if err != nil || !r.Written {
				return errors.Join(errors.New("not written"), err)
			}
			seen = r
		}
		return nil
	}
}
