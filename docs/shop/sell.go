package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

const (
	stockKey = "shop:stock"
	priceKey = "shop:price"
)

// A sale is one thing that one caller believes to have bought. Things are
// numbered by the stock the caller saw: the first of 500 is number 500.
type sale struct {
	item  int
	fence uint64
}

// sell puts stock things on the shelf and lets one caller for each lock buy
// until the shelf is empty.
func (m *mall) sell(ctx context.Context, stock int, locks []lock) (result, error) {
	if err := m.redis.MSet(ctx, stockKey, stock, priceKey, 5).Err(); err != nil {
		return result{}, err
	}
	r := result{stock: stock}
	start := time.Now()
	var (
		crowd crowd
		mu    sync.Mutex // guards r.sales and first
		first error
		wg    sync.WaitGroup
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, l := range locks {
		wg.Go(func() {
			sales, err := buyAll(ctx, m.redis, l, &crowd)
			mu.Lock()
			defer mu.Unlock()
			r.sales = append(r.sales, sales...)
			if err != nil && first == nil {
				first = err
				cancel() // the others need not go on
			}
		})
	}
	wg.Wait()
	if first != nil {
		return result{}, first
	}
	r.took = time.Since(start)
	r.crowd = int(crowd.most.Load())
	var err error
	r.left, err = m.redis.Get(ctx, stockKey).Int()
	return r, err
}

// buyAll buys one thing after the other until there is none.
func buyAll(ctx context.Context, redis *goredis.Client, l lock, c *crowd) ([]sale, error) {
	var sales []sale
	for {
		fence, err := l.enter(ctx)
		if err != nil {
			return sales, err
		}
		c.in()
		item, err := buy(ctx, redis)
		c.out()
		if lerr := l.leave(ctx); err == nil {
			err = lerr
		}
		if err != nil || item == 0 {
			return sales, err
		}
		sales = append(sales, sale{item, fence})
	}
}

// buy reads the stock, thinks, and writes the stock back: the bug that a lock is
// for. It returns the number of the thing, 0: sold out.
func buy(ctx context.Context, redis *goredis.Client) (item int, err error) {
	left, err := redis.Get(ctx, stockKey).Int()
	if err != nil || left <= 0 {
		return 0, err
	}
	if err := redis.Get(ctx, priceKey).Err(); err != nil { // thinking takes a while, too
		return 0, err
	}
	return left, redis.Set(ctx, stockKey, left-1, 0).Err()
}

// crowd counts who is in the shop at once.
type crowd struct{ now, most atomic.Int64 }

func (c *crowd) in() {
	n := c.now.Add(1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
}

func (c *crowd) out() { c.now.Add(-1) }
