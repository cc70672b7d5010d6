package interop

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/socket/client"
)

// mode takes name in the mode of o.
func (k *caller) mode(t testing.TB, name string, o client.LockOptions) {
	t.Helper()
	if _, err := k.Lock(t.Context(), name, o); err != nil {
		t.Fatalf("a caller of the gateway does not get %s, %+v: %v", name, o, err)
	}
}

var everyMode = []client.LockOptions{{}, {Shared: true}, {Limit: 2}}

func readWriteHeld(t *testing.T, c *column) string {
	for _, kind := range []string{"readLock", "writeLock"} {
		name, k, held := lockName(t)+"-"+strings.ToLower(kind), c.a.caller(t), c.of(kind)
		held.takes(t, "w", name, 0, long)
		for _, o := range everyMode {
			for _, o.Wait = range []time.Duration{0, long} {
				if _, err := k.Lock(t.Context(), name, o); code(err) != "CONFLICT" {
					t.Errorf("lockgw asks, %+v, for what a %s holds: %v, want CONFLICT", o, kind, err)
				}
			}
		}
		held.gives(t, "w", name)
		for _, o := range everyMode {
			k.mode(t, name, o)
			k.gives(t, name)
		}
	}
	return "yes"
}

// readWriteLate: the lease of a read or a write lock is over, and its program does not
// know.
func readWriteLate(t *testing.T, c *column) string {
	for _, kind := range []string{"readLock", "writeLock"} {
		for i, o := range everyMode {
			name, k := fmt.Sprint(lockName(t), "-", i, "-", strings.ToLower(kind)), c.a.caller(t)
			c.of(kind).takes(t, "w", name, 0, time.Second)
			eventually(t, "its lease is over", func() bool { return c.store.redis.Exists(t.Context(), name).Val() == 0 })
			o.TTL = long
			k.mode(t, name, o)
			held := c.store.redis.HGetAll(t.Context(), name).Val()
			if got, err := c.peer.ask("w", "unlock", kind, name); err == nil && got == "done" {
				t.Errorf("the late release of a %s = %q", kind, got)
			}
			if now := c.store.redis.HGetAll(t.Context(), name).Val(); !maps.Equal(now, held) {
				t.Errorf("the late release of a %s made of lockgw's %v %v", kind, held, now)
			}
			k.gives(t, name)
		}
	}
	return "yes"
}

// code is the first word of an error reply.
func code(err error) string {
	var reply *client.Error
	if errors.As(err, &reply) {
		return reply.Word
	}
	return fmt.Sprint(err)
}

func sharesHeld(t *testing.T, c *column) string {
	for i, o := range everyMode[1:] {
		name, k := fmt.Sprint(lockName(t), "-", i), c.a.caller(t)
		o.TTL = long
		k.mode(t, name, o)
		for _, kind := range []string{"readLock", "writeLock", "RLock", "RFencedLock", "RFairLock"} {
			c.of(kind).refused(t, "w", name, 0)
			c.of(kind).refused(t, "w", name, shortWait)
		}
		other := c.b.caller(t)
		other.mode(t, name, o) // it still is what it was
		other.gives(t, name)
		k.gives(t, name)
		c.of("writeLock").takes(t, "w", name, 0, long)
		c.of("writeLock").gives(t, "w", name)
	}
	return "yes"
}

// exclusiveHeld: RReadWriteLock looks for its own mark alone, and finds none.
func exclusiveHeld(t *testing.T, c *column) string {
	said := map[bool]string{true: "yes", false: "**no: granted**"}
	refused := func(kind, name string) bool {
		_, held, err := c.of(kind).lock("v", name, 0, long)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		return !held
	}
	var all []string
	for _, kind := range []string{"readLock", "writeLock"} {
		name, k := lockName(t)+"-"+strings.ToLower(kind), c.a.caller(t)
		k.takes(t, name, 0, long)
		byUs := refused(kind, name)
		c.of("RLock").takes(t, "w", name+".java", 0, long)
		if byThem := refused(kind, name+".java"); byThem && !byUs {
			t.Errorf("a %s is refused by an RLock, and not by lockgw", kind)
		}
		if kind == "readLock" && !byUs { // it takes all with it when it leaves
			c.of(kind).gives(t, "v", name)
			if c.store.redis.Exists(t.Context(), name).Val() != 0 {
				t.Error("lockgw's hold is still there when the reader has left")
			}
		}
		all = append(all, said[byUs])
	}
	if all[0] != all[1] {
		t.Errorf("to read %s, to write %s", all[0], all[1])
	}
	return all[0]
}

func permitsHeld(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	c.told(t, "done", "w", "permits", name, "2")
	for range 2 {
		c.takes(t, "w", name, 0, long) // its key stays when there are none left
		for _, o := range everyMode {
			_, err := k.Lock(t.Context(), name, o)
			if o.Limit > 0 && code(err) != "CONFLICT" || o.Limit == 0 && !errors.Is(err, client.ErrNotAcquired) {
				t.Errorf("lockgw asks, %+v, for a name of permits: %v", o, err)
			}
		}
	}
	granted := k.waits(t, name, lease)
	c.told(t, "done", "w", "force", name)
	o := <-granted
	o.mustHold(t, "a caller of the gateway")
	return "yes"
}

func permitsRefused(t *testing.T, c *column) string {
	for i, o := range everyMode {
		for _, kind := range []string{"RSemaphore", "RPermitExpirableSemaphore"} {
			name, k := fmt.Sprint(lockName(t), "-", i, "-", strings.ToLower(kind)), c.a.caller(t)
			o.TTL = long
			k.mode(t, name, o)
			for _, ask := range [][]string{{"permits", "2"}, {"lock", "0", "1000"}} {
				if got, err := c.peer.ask("w", ask[0], kind, name, ask[1:]...); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
					t.Errorf("%s: %s of a name that lockgw holds, %+v: %s, %v, want WRONGTYPE", kind, ask[0], o, got, err)
				}
			}
			k.gives(t, name)
		}
	}
	return "an error (`WRONGTYPE`)"
}
