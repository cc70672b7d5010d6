package restarts

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// watch looks at locks in Redis all the time: each has to be there, and its owner's.
// A nil watch looks at nothing.
type watch struct {
	client *goredis.Client
	led    *ledger

	mu    sync.Mutex // guards the fields below; removed names are not looked at any more
	locks map[string]map[string]string
	looks int
}

func newWatch(c *goredis.Client, led *ledger) *watch {
	return &watch{client: c, led: led, locks: map[string]map[string]string{}}
}

func (w *watch) add(name, owner string, entries int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.locks[name] = map[string]string{owner: strconv.Itoa(entries)}
}

func (w *watch) remove(name string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.locks, name)
}

func (w *watch) run(ctx context.Context) {
	for ctx.Err() == nil {
		w.look(ctx)
		pause(ctx, 5*time.Millisecond)
	}
}

// look holds mu, so that a lock that is about to be released is not seen without it.
func (w *watch) look(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	pipe := w.client.Pipeline()
	seen, left := map[string]*goredis.MapStringStringCmd{}, map[string]*goredis.DurationCmd{}
	for name := range w.locks {
		seen[name], left[name] = pipe.HGetAll(ctx, name), pipe.PTTL(ctx, name)
	}
	if len(seen) == 0 {
		return
	}
	if _, err := pipe.Exec(ctx); err != nil {
		if ctx.Err() == nil {
			w.led.fault("watch: %v", err)
		}
		return
	}
	w.looks++
	for name, want := range w.locks {
		if got := seen[name].Val(); !maps.Equal(got, want) || left[name].Val() <= 0 {
			w.led.fault("in Redis %s is %v for %v more, want %v", name, got, left[name].Val(), want)
			delete(w.locks, name)
		}
	}
}

func (w *watch) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%d looks at the locks in Redis", w.looks)
}
