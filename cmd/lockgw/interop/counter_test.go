package interop

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/socket/client"
)

// tally is a counter in Redis that is read and written in two steps, which only
// the lock makes one.
type tally struct {
	redis goredis.UniversalClient
	name  string // of the lock
	key   string // of the counter

	mu   sync.Mutex // guards the field below
	last uint64     // fence; its own guard is there for the race detector, the lock under test is what orders it
}

// add adds 1. fence is that of the hold, 0 if it is not known.
func (y *tally) add(fence uint64) error {
	ctx := context.Background()
	inside := y.key + ":inside"
	alone, err := y.redis.SetNX(ctx, inside, "lockgw", 0).Result()
	if err != nil || !alone {
		return fmt.Errorf("somebody else is inside: %s, %w", y.redis.Get(ctx, inside).Val(), err)
	}
	y.mu.Lock()
	if fence != 0 && fence <= y.last {
		err = fmt.Errorf("fence %d after %d", fence, y.last)
	}
	y.last = max(y.last, fence)
	y.mu.Unlock()
	n, getErr := y.redis.Get(ctx, y.key).Int()
	if errors.Is(getErr, goredis.Nil) {
		getErr = nil
	}
	return errors.Join(err, getErr, y.redis.Set(ctx, y.key, n+1, 0).Err(), y.redis.Del(ctx, inside).Err())
}

// counter: of a hundred additions the program makes 50, callers of resp.sock on
// two gateways 37, of http.sock 12, and curl one.
func counter(t *testing.T, c *column) string {
	y := &tally{redis: c.store.redis, name: lockName(t), key: lockName(t) + ":n"}
	total := *operations
	if !c.redisson || c.store.mode != "single" || c.family != oneLock {
		total /= 10
	}
	const workers = 4
	share := func(percent int) int { return total * percent / 100 / workers }
	began := time.Now()
	var all sync.WaitGroup
	crew := func(who string, n, times int, one func(i int) func() error) {
		var wg sync.WaitGroup
		for i := range n {
			f := one(i)
			wg.Go(func() {
				for range times {
					if err := f(); err != nil {
						t.Errorf("%s: %v", who, err)
						return
					}
				}
			})
		}
		all.Go(func() {
			wg.Wait()
			t.Logf("%s: %d additions of %s in %v", who, n*times, c.title(), time.Since(began).Round(time.Millisecond))
		})
	}
	crew("the program", workers, 1, func(i int) func() error {
		return func() error {
			_, err := c.peer.ask(fmt.Sprint("add", i), "add", c.kind, y.name, y.key, strconv.Itoa(share(50)))
			return err
		}
	})
	crew("resp.sock", workers, share(37), func(i int) func() error { return y.bySocket(t, c.gateway(i).caller(t)) })
	crew("http.sock", workers, share(12), func(i int) func() error { return y.byHTTP(c.gateway(i).session(t)) })
	crew("curl", 1, total/100, func(int) func() error {
		return func() error { return c.a.withCurl(y.name, func() error { return y.add(0) }) }
	})
	stop, looks := make(chan struct{}), make(chan int, 1)
	go func() { looks <- c.look(t, y.name, stop) }()
	all.Wait()
	close(stop)
	t.Logf("looked %d times whether the lock has an end", <-looks)
	want := workers*(share(50)+share(37)+share(12)) + total/100
	if got, err := y.redis.Get(t.Context(), y.key).Int(); err != nil || got != want {
		t.Errorf("the counter is %d, %v, after %d additions", got, err, want)
	}
	return strconv.Itoa(want)
}

// gateway is one of the two gateways, in turn.
func (c *column) gateway(i int) *gateway { return []*gateway{c.a, c.b}[i%2] }

// look checks again and again whether the lock has an expiry, until it is told to stop, and
// returns how often it has checked.
func (c *column) look(t *testing.T, name string, stop <-chan struct{}) int {
	for n := 0; ; n++ {
		c.leased(t, name)
		select {
		case <-stop:
			return n
		case <-time.After(time.Millisecond):
		}
	}
}

func (y *tally) bySocket(t *testing.T, k *caller) func() error {
	ctx := t.Context()
	return func() error {
		v, err := k.Lock(ctx, y.name, client.LockOptions{Wait: 2 * patience, TTL: lease})
		if err != nil {
			return err
		}
		if err := y.add(v.Fence); err != nil {
			return err
		}
		_, err = k.Unlock(ctx, y.name, client.UnlockOptions{})
		return err
	}
}

func (y *tally) byHTTP(s *webSession) func() error {
	return func() error {
		status, fence, err := s.call(http.MethodPut, y.name, "?wait=60s&ttl=3s")
		if err != nil || status != http.StatusCreated {
			return fmt.Errorf("acquire: status %d, %w", status, err)
		}
		if err := y.add(fence); err != nil {
			return err
		}
		if status, _, err = s.call(http.MethodDelete, y.name, ""); err != nil || status != http.StatusOK {
			return fmt.Errorf("release: status %d, %w", status, err)
		}
		return nil
	}
}
