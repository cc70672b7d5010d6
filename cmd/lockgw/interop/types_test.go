package interop

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/socket/client"
)

// as makes the case run with one type of the program's locks.
func as(kind string, run func(*testing.T, *column) string) func(*testing.T, *column) string {
	return func(t *testing.T, c *column) string { return run(t, c.of(kind)) }
}

func (c *column) of(kind string) *column {
	o := *c
	o.kind = kind
	return &o
}

func excludes(t *testing.T, c *column) string {
	ours(t, c)
	return theirs(t, c)
}

// byEither is for a lock of the program that is made of name and of a second name.
func byEither(t *testing.T, c *column) string {
	excludes(t, c)
	name, k := lockName(t), c.a.caller(t)
	k.takes(t, name+".second", 0, long)
	c.refused(t, "w", name, 0)
	c.refused(t, "w", name, shortWait)
	k.takes(t, name, 0, long) // the program has let go of it again
	k.gives(t, name)
	k.gives(t, name+".second")
	c.takes(t, "w", name, 0, long)
	k.refused(t, name+".second", shortWait)
	c.gives(t, "w", name)
	return "yes"
}

// silent is for a lock whose release the program tells nobody.
func silent(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	c.takes(t, "w", name, 0, lease)
	granted := k.waits(t, name, long)
	c.gives(t, "w", name)
	began := time.Now()
	o := <-granted
	o.mustHold(t, "a caller of the gateway")
	if d := o.at.Sub(began); d > lease+soon {
		t.Errorf("granted %v after the release, want at most the lease of %v", d, lease)
	} else if d < lease/2 {
		return "less than its lease"
	}
	return "the rest of its lease"
}

// deaf is for a lock of which the program does not listen where a release is published.
func deaf(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	k.takes(t, name, 0, lease)
	return c.wakes(t, name, func() { k.gives(t, name) })
}

func deafToShares(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	k.mode(t, name, client.LockOptions{TTL: lease, Shared: true})
	return c.wakes(t, name, func() { k.gives(t, name) })
}

// wakes has the program wait for name until the lease that it saw is over, though
// release comes sooner.
func (c *column) wakes(t *testing.T, name string, release func()) string {
	granted := make(chan outcome, 1)
	go func() {
		fence, held, err := c.lock("w", name, long, long)
		granted <- outcome{fence, held, err, time.Now()}
	}()
	eventually(t, "the program listens elsewhere", func() bool {
		channels, err := c.store.redis.PubSubChannels(t.Context(), "redisson_*{"+name+"}*").Result()
		return err == nil && len(channels) > 0
	})
	time.Sleep(lease / 10) // it looks once more, and sleeps
	release()
	began := time.Now()
	o := <-granted
	o.mustHold(t, c.name)
	if d := o.at.Sub(began); d > lease+soon {
		t.Errorf("granted %v after the release, want at most the lease of %v", d, lease)
	} else if d < lease/2 {
		t.Logf("granted %v after the release", d)
		return "less than our lease"
	}
	c.gives(t, "w", name)
	return "the rest of our lease"
}

func polls(t *testing.T, c *column) string {
	c.redisson = false // it does not listen
	return wakeThem(t, c)
}
