package restarts

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/history"
)

// caller acquires and releases all the time, and repeats every request until it hears
// the answer. It knows what each answer has to be.
type caller struct {
	id    int
	g     *gateway
	open  func(context.Context) (door, error)
	door  door
	led   *ledger
	rng   *rand.Rand
	names []string
	over  <-chan struct{} // closed when nothing is restarted any more
	keys  int
}

func (c *caller) key() string {
	c.keys++
	return fmt.Sprintf("caller-%d-%d", c.id, c.keys)
}

// holdsOfSession is below the limit of answers that one session remembers.
const holdsOfSession = 200

func (c *caller) run(ctx context.Context) {
	for ctx.Err() == nil && c.session(ctx) {
		pause(ctx, 5*time.Millisecond)
	}
}

// session is what the caller does in one; false: something is wrong.
func (c *caller) session(ctx context.Context) (ok bool) {
	var err error
	if c.door, err = insist(context.Background(), c.led, c.open); err != nil {
		c.led.fault("caller %d: open a session: %v", c.id, err)
		return false
	}
	ok = true
	for n := 0; ok && n < holdsOfSession && ctx.Err() == nil; n++ {
		ok = c.once()
		pause(ctx, time.Duration(c.rng.Int64N(int64(5*time.Millisecond))))
	}
	if err := endSession(c.led, c.door); err != nil {
		c.led.fault("caller %d: end its session: %v", c.id, err)
	}
	return ok
}

// endSession ends it. That it has ended already is the answer to a repeat.
func endSession(l *ledger, d door) error {
	tries := 0
	_, err := insist(context.Background(), l, func(ctx context.Context) (struct{}, error) {
		tries++
		return struct{}{}, d.end(ctx)
	})
	if no := (*refusal)(nil); errors.As(err, &no) && tries > 1 {
		return nil
	}
	return err
}

// once takes one hold, entered once or twice, and gives it back; false: something is wrong.
func (c *caller) once() bool {
	o := history.Op{
		Name: c.names[c.rng.IntN(len(c.names))], Caller: c.id, Node: c.g.Name, TTL: ttl,
		Wait: 20 * time.Second, Call: now(), Outcome: history.Granted,
	}
	l, ok := c.enter(&o, 1)
	if !ok || l.Fence == 0 {
		return ok
	}
	o.Answer, o.Fence, o.Deadline = now(), l.Fence, l.deadline()
	defer func() { c.led.op(o) }()
	entries := 1
	if c.rng.IntN(3) == 0 {
		if l, ok = c.enter(&o, 2); !ok {
			return false
		}
		o.Again, entries = l.Fence, 2
	}
	time.Sleep(time.Duration(c.rng.Int64N(int64(10 * time.Millisecond))))
	for left := entries - 1; left >= 0; left-- {
		if !c.leave(&o, left) {
			return false
		}
	}
	return true
}

// lose drops an answer now and then, so that the request is repeated, maybe to the next
// process of the gateway.
func (c *caller) lose() bool {
	if c.rng.IntN(40) != 0 {
		return false
	}
	before, _ := c.g.Starts()
	for until := time.Now().Add(5 * time.Second); time.Now().Before(until); {
		select {
		case <-c.over:
			return true
		case <-time.After(10 * time.Millisecond):
		}
		if n, _ := c.g.Starts(); n != before {
			break
		}
	}
	return true
}

// enter acquires o's name, which then has so many entries. If it did not get the name in
// time, the lock it returns has no fence.
func (c *caller) enter(o *history.Op, entries int) (lock, bool) {
	key := c.key()
	l, err := insist(context.Background(), c.led, func(ctx context.Context) (lock, error) {
		return c.door.acquire(ctx, o.Name, key, o.Wait)
	})
	no := (*refusal)(nil)
	switch {
	case err == nil && l.Count == entries:
		return l, true
	case err == nil:
		c.led.fault("caller %d at %s: entry %d of %s is told as number %d", c.id, c.g.Name, entries, o.Name, l.Count)
	case errors.As(err, &no) && no.code == "wait_timeout" && entries == 1:
		return lock{}, true
	case errors.As(err, &no) && no.code == "not_owner" && entries == 1:
		// The gateway was stopped between the grant and the answer. The grant is
		// taken back, so the repeat cannot tell it.
		c.led.count(&c.led.drawn)
		return lock{}, true
	default:
		c.led.fault("caller %d at %s: entry %d of %s: %v\n%s", c.id, c.g.Name, entries, o.Name, err, o)
	}
	return lock{}, false
}

// leave gives up one entry, after which so many are left.
func (c *caller) leave(o *history.Op, left int) bool {
	key := c.key()
	o.EndCall = now()
	n, err := insist(context.Background(), c.led, func(ctx context.Context) (int, error) {
		return c.door.release(ctx, o.Name, key)
	})
	if err != nil || n != left {
		o.End = history.Broken
		c.led.fault("caller %d: release of %s: %d entries are left, %v, want %d\n%s", c.id, o.Name, n, err, left, o)
		return false
	}
	if o.EndAnswer = now(); left == 0 {
		o.End = history.Released
	}
	return true
}
