package interop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/socket/client"
)

// long is a lease that is never the reason why a name becomes free in time.
const long = 30 * time.Second

// column is one program on one kind of Redis, beside the gateways there.
type column struct {
	program
	*nodes
	store *store
	peer  *peer
}

// lockName is one that no other case uses.
func lockName(t testing.TB) string {
	return strings.ToLower(strings.NewReplacer("TestInterop/", "", "/cases", "", "/", ".").Replace(t.Name()))
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// lock has a worker of the program ask for name. A lease of 0 is one that
// Redisson's watchdog renews.
func (c *column) lock(worker, name string, wait, lease time.Duration) (fence uint64, held bool, err error) {
	answer, err := c.peer.ask(worker, "lock", c.kind, name, millis(wait), millis(lease))
	if err != nil || answer == "busy" {
		return 0, false, err
	}
	fence, err = strconv.ParseUint(answer, 10, 64)
	return fence, true, err
}

func (c *column) takes(t testing.TB, worker, name string, wait, lease time.Duration) uint64 {
	t.Helper()
	fence, held, err := c.lock(worker, name, wait, lease)
	if err != nil || !held {
		t.Fatalf("%s does not get %s: held = %v, err %v", c.name, name, held, err)
	}
	return fence
}

func (c *column) refused(t testing.TB, worker, name string, wait time.Duration) {
	t.Helper()
	if _, held, err := c.lock(worker, name, wait, long); err != nil || held {
		t.Fatalf("%s gets %s, which is held: held = %v, err %v", c.name, name, held, err)
	}
}

// told has a worker of the program do something, and wants that answer.
func (c *column) told(t testing.TB, want, worker, operation, name string, args ...string) {
	t.Helper()
	if got, err := c.peer.ask(worker, operation, c.kind, name, args...); err != nil || got != want {
		t.Fatalf("%s: %s %s = %q, %v, want %q", c.name, operation, name, got, err, want)
	}
}

func (c *column) gives(t testing.TB, worker, name string) {
	t.Helper()
	c.told(t, "done", worker, "unlock", name)
}

// outcome is how a call that waits has ended, and when.
type outcome struct {
	fence uint64
	held  bool
	err   error
	at    time.Time
}

func (o outcome) mustHold(t testing.TB, who string) {
	t.Helper()
	if o.err != nil || !o.held {
		t.Fatalf("%s has waited and did not get the lock: held = %v, err %v", who, o.held, o.err)
	}
}

// waits has a worker of the program wait for name. It returns once the program
// listens for the release, if it is one that does.
func (c *column) waits(t testing.TB, worker, name string, lease time.Duration) <-chan outcome {
	t.Helper()
	before := c.store.subscribers(t.Context(), name)
	out := make(chan outcome, 1)
	go func() {
		fence, held, err := c.lock(worker, name, long, lease)
		out <- outcome{fence, held, err, time.Now()}
	}()
	if c.redisson {
		eventually(t, "the program listens", func() bool { return c.store.subscribers(t.Context(), name) > before })
	}
	return out
}

// caller is a client of a gateway, with a session of its own.
type caller struct {
	*client.Client
	gateway *gateway
	notices chan client.Notice
}

func (g *gateway) caller(t testing.TB) *caller {
	notices := make(chan client.Notice, 10)
	return &caller{g.dial(t, func(n client.Notice) { notices <- n }), g, notices}
}

func (k *caller) takes(t testing.TB, name string, wait, ttl time.Duration) uint64 {
	t.Helper()
	v, err := k.Lock(t.Context(), name, client.LockOptions{Wait: wait, TTL: ttl})
	if err != nil {
		t.Fatalf("a caller of the gateway does not get %s: %v", name, err)
	}
	return v.Fence
}

func (k *caller) refused(t testing.TB, name string, wait time.Duration) {
	t.Helper()
	if _, err := k.Lock(t.Context(), name, client.LockOptions{Wait: wait}); !errors.Is(err, client.ErrNotAcquired) {
		t.Fatalf("a caller of the gateway asks for %s, which is held: err = %v, want %v", name, err, client.ErrNotAcquired)
	}
}

func (k *caller) gives(t testing.TB, name string) {
	t.Helper()
	if _, err := k.Unlock(t.Context(), name, client.UnlockOptions{}); err != nil {
		t.Fatalf("a caller of the gateway releases %s: %v", name, err)
	}
}

// waits returns once the caller stands in the queue, in the store.
func (k *caller) waits(t testing.TB, name string, ttl time.Duration) <-chan outcome {
	t.Helper()
	watcher := k.gateway.other.dial(t, nil)
	before := waiters(t, watcher, name)
	out := make(chan outcome, 1)
	ctx := t.Context()
	go func() {
		v, err := k.Lock(ctx, name, client.LockOptions{Wait: long, TTL: ttl})
		out <- outcome{v.Fence, err == nil, err, time.Now()}
	}()
	eventually(t, "the caller waits", func() bool { return waiters(t, watcher, name) > before })
	return out
}

// waitsForPeer is waits for a lock of the program: the gateway listens for its
// release, where it can.
func (k *caller) waitsForPeer(t testing.TB, c *column, name string) <-chan outcome {
	t.Helper()
	out := k.waits(t, name, long)
	if c.redisson || c.store.mode == "events" {
		eventually(t, "the gateway listens", func() bool { return c.store.subscribers(t.Context(), name) > 0 })
		time.Sleep(50 * time.Millisecond) // its look after the subscription is not what is measured
	}
	return out
}

func waiters(t testing.TB, k *client.Client, name string) int {
	t.Helper()
	st, err := k.Info(t.Context(), name)
	if err != nil {
		t.Fatalf("LOCKINFO %s: %v", name, err)
	}
	return st.Waiters
}

// within says of how long things took, and fails if one took longer than most.
func within(t testing.TB, took []time.Duration, most time.Duration) string {
	t.Helper()
	slices.Sort(took)
	if slowest := took[len(took)-1]; slowest > most {
		t.Fatalf("took %v, want at most %v", slowest, most)
	}
	median := took[len(took)/2]
	for _, class := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second} {
		if median < class {
			return fmt.Sprintf("< %v", class)
		}
	}
	return fmt.Sprintf("< %v", most)
}

// leased fails unless the lock in Redis ends by itself.
func (c *column) leased(t testing.TB, name string) {
	t.Helper()
	if ttl, err := c.store.redis.PTTL(context.WithoutCancel(t.Context()), name).Result(); err != nil || ttl == -1 {
		t.Errorf("PTTL %s = %v, %v: a lock without an end", name, ttl, err)
	}
}
