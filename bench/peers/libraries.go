package peers

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

	"github.com/lockgw/lockgw/bench/callers"
)

// RedsyncPair is redsync over one server, with its own pauses but no end of tries.
func RedsyncPair(name func(int) string) func(c *goredis.Client, i int) callers.Op {
	return func(c *goredis.Client, i int) callers.Op {
		locks, key := redsync.New(redsyncgoredis.NewPool(c)), "redsync:"+name(i)
		pause := func(int) time.Duration { return 50*time.Millisecond + rand.N(200*time.Millisecond) }
		return func() error {
			m := locks.NewMutex(key, redsync.WithExpiry(callers.TTL), redsync.WithTries(1<<20), redsync.WithRetryDelayFunc(pause))
			if err := m.Lock(); err != nil {
				return err
			}
			_, err := m.Unlock()
			return err
		}
	}
}

// RueidisPairs is rueidislock as it comes: three keys for a name, and a client
// side cache that tells of a release.
func RueidisPairs(addr string, name func(int) string) func(n int) (callers.Crew, error) {
	return func(n int) (callers.Crew, error) {
		locks, err := rueidisNode(addr)
		if err != nil {
			return callers.Crew{}, err
		}
		c := callers.Crew{Close: func() error { locks.Close(); return nil }}
		for i := range n {
			c.Ops = append(c.Ops, func() error {
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

// RueidisPasses has two nodes with rueidislock take the lock in turn, n times. Each has it
// for so long that the other one waits for it.
func RueidisPasses(addr string, n int, hold time.Duration) (callers.Crew, error) {
	var locks, unlocks [2]callers.Op
	var nodes [2]rueidislock.Locker
	for i := range nodes {
		var err error
		if nodes[i], err = rueidisNode(addr); err != nil {
			return callers.Crew{}, err
		}
		cancel := func() {}
		locks[i] = func() (err error) {
			_, cancel, err = nodes[i].WithContext(context.Background(), "passed")
			return err
		}
		unlocks[i] = func() error { cancel(); return nil }
	}
	return callers.Crew{
		Once:  callers.InTurn(n, hold, locks, unlocks),
		Close: func() error { nodes[0].Close(); nodes[1].Close(); return nil },
	}, nil
}

func rueidisNode(addr string) (rueidislock.Locker, error) {
	return rueidislock.NewLocker(rueidislock.LockerOption{ClientOption: rueidis.ClientOption{InitAddress: strings.Fields(addr)}})
}
