package main

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncgoredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// redsyncPair is redsync over one server, with its own pauses but no end of tries.
func redsyncPair(name func(int) string) func(c *goredis.Client, i int) op {
	return func(c *goredis.Client, i int) op {
		locks, key := redsync.New(redsyncgoredis.NewPool(c)), "redsync:"+name(i)
		pause := func(int) time.Duration { return 50*time.Millisecond + rand.N(200*time.Millisecond) }
		return func() error {
			m := locks.NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(1<<20), redsync.WithRetryDelayFunc(pause))
			if err := m.Lock(); err != nil {
				return err
			}
			_, err := m.Unlock()
			return err
		}
	}
}

// rueidisPairs is rueidislock as it comes: three keys for a name, and a client
// side cache that tells of a release.
func rueidisPairs(addr string, name func(int) string) func(n int) (crew, error) {
	return func(n int) (crew, error) {
		locks, err := rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption: rueidis.ClientOption{InitAddress: strings.Fields(addr)},
		})
		if err != nil {
			return crew{}, err
		}
		c := crew{close: func() error { locks.Close(); return nil }}
		for i := range n {
			c.ops = append(c.ops, func() error {
				_, cancel, err := locks.WithContext(context.Background(), name(i))
				if err != nil {
					return err
				}
				cancel()
				return nil
			})
		}
		return c, nil
	}
}
