package interop

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/socket/client"
)

// soon is how long a wake-up may take on a busy machine: a sixth of the lease after which one
// who was not told looks again.
const soon = long / 6

func wakeUs(t *testing.T, c *column) string {
	if !c.redisson && c.store.mode != "events" {
		return wakeByLease(t, c)
	}
	var took []time.Duration
	for i := range *wakings {
		name, k := fmt.Sprint(lockName(t), "-", i), c.a.caller(t) // nobody listens yet to a new name
		c.takes(t, "w", name, 0, long)
		granted := k.waitsForPeer(t, c, name)
		began := time.Now()
		c.gives(t, "w", name)
		gave := time.Since(began)
		o := <-granted
		o.mustHold(t, "a caller of the gateway")
		if d := o.at.Sub(began); d > soon {
			t.Logf("the release was answered after %v, the grant after %v, at %s", gave, d, o.at.Format("15:04:05.000"))
		}
		took = append(took, o.at.Sub(began))
		k.gives(t, name)
	}
	return within(t, took, soon)
}

// Nothing tells that a string key was deleted: the gateway looks when the lease
// that it has seen is over.
func wakeByLease(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	c.takes(t, "w", name, 0, lease)
	granted := k.waits(t, name, long)
	c.gives(t, "w", name)
	began := time.Now()
	o := <-granted
	o.mustHold(t, "a caller of the gateway")
	if d := o.at.Sub(began); d > lease+soon {
		t.Errorf("granted after %v, want at most the lease of %v", d, lease)
	}
	return "the rest of its lease"
}

func wakeThem(t *testing.T, c *column) string {
	var took []time.Duration
	for i := range *wakings {
		name, k := fmt.Sprint(lockName(t), "-", i), c.a.caller(t)
		k.takes(t, name, 0, long)
		// Of several servers a majority is enough, and one that lacks the lock the program would take, and
		// keep while it waits for the others: there nothing would be told of the release.
		eventually(t, "the server that is listened to has the lock", func() bool { return c.store.redis.Exists(t.Context(), name).Val() == 1 })
		heard := c.store.listen(t, name)
		granted := c.waits(t, "w", name, long)
		if !c.redisson {
			time.Sleep(50 * time.Millisecond) // it polls
		}
		began := time.Now()
		k.gives(t, name)
		heard()
		o := <-granted
		o.mustHold(t, c.name+", which was told of the release,")
		took = append(took, o.at.Sub(began))
		c.gives(t, "w", name)
	}
	if !c.redisson {
		within(t, took, soon)
		return "its next poll"
	}
	return within(t, took, soon)
}

// A program that takes the lock again as soon as it has released it may be faster than the
// message to the gateway, but not for ever.
func barge(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	c.takes(t, "w", name, 0, long)
	const storm = 2 * time.Second
	over := make(chan outcome, 1)
	go func() {
		times, err := c.peer.ask("w", "barge", c.kind, name, millis(storm))
		n, _ := strconv.ParseUint(times, 10, 64)
		over <- outcome{fence: n, err: err, at: time.Now()}
	}()
	time.Sleep(storm / 10) // it is under way
	k.takes(t, name, patience, long)
	at := time.Now()
	k.gives(t, name)
	stopped := <-over
	if stopped.err != nil {
		t.Fatal(stopped.err)
	}
	early := stopped.at.Sub(at)
	t.Logf("granted %v before the end of %v in which the program took the lock %d times", early, storm, stopped.fence)
	switch {
	case early < -soon:
		t.Errorf("granted %v after the program has stopped", -early)
	case early < storm/10:
		return "when it stops"
	}
	return "sooner"
}

// Callers of two gateways pass the lock on among themselves; the program is not in
// their queue.
func crowd(t *testing.T, c *column) string {
	name, first := lockName(t), c.a.caller(t)
	first.takes(t, name, 0, long)
	granted := c.waits(t, "w", name, long)
	const rush = 2 * time.Second
	stop := time.Now().Add(rush)
	var busy sync.WaitGroup
	for i := range 4 {
		k := c.gateway(i).caller(t)
		busy.Go(func() {
			for time.Now().Before(stop) {
				if _, err := k.Lock(t.Context(), name, client.LockOptions{Wait: patience, TTL: long}); err != nil {
					t.Errorf("a caller of the gateway: %v", err)
					return
				}
				if _, err := k.Unlock(t.Context(), name, client.UnlockOptions{}); err != nil {
					t.Errorf("a caller of the gateway: %v", err)
					return
				}
			}
		})
	}
	watcher := c.a.dial(t, nil)
	eventually(t, "both gateways wait", func() bool { return waiters(t, watcher, name) > 2 }) // two of them wait here
	first.gives(t, name)
	o := <-granted
	o.mustHold(t, c.name)
	c.gives(t, "w", name)
	busy.Wait()
	late := stop.Sub(o.at)
	t.Logf("granted %v before the end of a rush of %v", late, rush)
	switch {
	case late < -soon:
		t.Errorf("granted %v after the rush of lockgw's callers was over", -late)
	case late < rush/10:
		return "when they stop"
	}
	return "sooner"
}
