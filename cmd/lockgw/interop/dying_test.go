package interop

import (
	"net/http"
	"testing"
	"time"

	"github.com/lockgw/lockgw/socket/client"
)

// over is the longest that a lease may be seen to last: the whole lease after the last
// renewal, and what a busy machine adds.
const over = lease + 2*time.Second

func killThem(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	victim := *c
	victim.peer = startPeer(t, c.command, c.store)
	held := lease
	if c.redisson {
		held = 0 // its watchdog's
	}
	victim.takes(t, "w", name, 0, held)
	granted := k.waits(t, name, long)
	victim.peer.kill()
	left := c.store.redis.PTTL(t.Context(), name).Val()
	died := time.Now()
	o := <-granted
	o.mustHold(t, "a caller of the gateway")
	if d := o.at.Sub(died); d > over || d < left-50*time.Millisecond {
		t.Errorf("granted %v after the program's death, want between the rest of its lease, %v, and %v", d, left, over)
	}
	k.gives(t, name)
	return "yes"
}

func killUs(t *testing.T, c *column) string {
	name := lockName(t)
	victim := c.start(t, "v-"+name[max(0, len(name)-20):], 0)
	victim.caller(t).takes(t, name, 0, lease)
	granted := c.waits(t, "w", name, long)
	victim.Kill()
	left := c.store.redis.PTTL(t.Context(), name).Val()
	if left > lease { // the program has the lock there, and the gateway has it on the other servers
		left = 2 * lease / 3 // or more: it was renewed
	}
	died := time.Now()
	o := <-granted
	o.mustHold(t, c.name)
	if d := o.at.Sub(died); d > over || d < left-50*time.Millisecond {
		t.Errorf("granted %v after the gateway's death, want between the rest of its lease, %v, and %v", d, left, over)
	}
	c.gives(t, "w", name)
	return "yes"
}

func lateTheirs(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	c.takes(t, "w", name, 0, time.Second)
	k.takes(t, name, long, long)
	got, err := c.peer.ask("w", "unlock", c.kind, name)
	if err == nil && got == "done" && c.kind != "RedissonRedLock" { // which never tells
		t.Errorf("the late release of %s = %q", c.name, got)
	}
	if c.store.redis.Exists(t.Context(), name).Val() != 1 {
		t.Error("the late release has taken lockgw's lock")
	}
	c.refused(t, "v", name, 0)
	k.gives(t, name)
	return "yes"
}

// A fixed lease is not renewed, so it is over while its holder still thinks of
// releasing it.
func lateOurs(t *testing.T, c *column) string {
	name := lockName(t)
	s := c.a.session(t)
	s.must(t, http.StatusCreated, http.MethodPut, name, "?ttl=1s&renew=false")
	c.takes(t, "w", name, long, long)
	s.must(t, http.StatusGone, http.MethodDelete, name, "")
	if c.store.redis.Exists(t.Context(), name).Val() != 1 {
		t.Error("the late release has taken the program's lock")
	}
	c.a.caller(t).refused(t, name, 0)
	c.gives(t, "w", name)
	return "yes"
}

// many is longer than two leases.
const many = 2*lease + lease/3

func watchdogOurs(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	fence := k.takes(t, name, 0, lease)
	for end := time.Now().Add(many); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		c.refused(t, "w", name, 0)
		c.leased(t, name)
	}
	if st, err := k.Info(t.Context(), name); err != nil || st.Fence != fence {
		t.Errorf("LOCKINFO = %+v, %v, want fence %d", st, err, fence)
	}
	k.gives(t, name)
	return "yes"
}

func watchdogTheirs(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	if c.redisson {
		c.takes(t, "w", name, 0, 0)
	} else {
		c.takes(t, "w", name, 0, lease)
	}
	renewed := time.Now()
	for end := time.Now().Add(many); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := k.Lock(t.Context(), name, client.LockOptions{}); err == nil {
			t.Fatal("the gateway grants a lock that the program renews")
		}
		c.leased(t, name)
		if !c.redisson && time.Since(renewed) > lease/3 {
			c.told(t, "done", "w", "extend", name, millis(lease))
			renewed = time.Now()
		}
	}
	c.gives(t, "w", name)
	k.takes(t, name, long, long)
	k.gives(t, name)
	if !c.redisson {
		return "yes, by its extend"
	}
	return "yes"
}
