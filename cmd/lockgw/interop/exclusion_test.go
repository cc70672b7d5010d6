package interop

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/socket/client"
)

// shortWait is long enough for Redisson to subscribe also where the machine is busy: one that
// has not by its end tells an error.
const shortWait = time.Second

func ours(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	k.takes(t, name, 0, long)
	c.refused(t, "w", name, 0)
	c.refused(t, "w", name, shortWait)
	k.gives(t, name)
	c.takes(t, "w", name, 0, long)
	c.gives(t, "w", name)
	return "yes"
}

func theirs(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	c.takes(t, "w", name, 0, long)
	k.refused(t, name, 0)
	k.refused(t, name, shortWait)
	if st, err := k.Info(t.Context(), name); err != nil || st.State != "held" || st.Holder == nil {
		t.Errorf("LOCKINFO = %+v, %v, want held", st, err)
	}
	c.gives(t, "w", name)
	k.takes(t, name, 0, long)
	k.gives(t, name)
	return "yes"
}

func enterOurs(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	for _, want := range []string{"1", "2", "3"} {
		k.takes(t, name, 0, long)
		if got := c.entries(t, name); got != want {
			t.Errorf("entries in Redis = %s, want %s", got, want)
		}
	}
	for _, want := range []string{"2", "1"} {
		k.gives(t, name)
		if got := c.entries(t, name); got != want {
			t.Errorf("entries in Redis = %s, want %s", got, want)
		}
		c.refused(t, "w", name, 0)
	}
	k.gives(t, name)
	c.takes(t, "w", name, 0, long)
	c.gives(t, "w", name)
	return "yes"
}

// entries is the count of the only field of the lock.
func (c *column) entries(t *testing.T, name string) string {
	t.Helper()
	fields, err := c.store.redis.HGetAll(t.Context(), name).Result()
	if err != nil || len(fields) != 1 {
		t.Fatalf("HGETALL %s = %v, %v, want one holder", name, fields, err)
	}
	for _, n := range fields {
		return n
	}
	return ""
}

func enterTheirs(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	for range 3 {
		c.takes(t, "w", name, 0, long)
	}
	if got := c.entries(t, name); got != "3" {
		t.Errorf("entries in Redis = %s, want 3", got)
	}
	for range 3 {
		k.refused(t, name, 0)
		c.gives(t, "w", name)
	}
	k.takes(t, name, 0, long)
	k.gives(t, name)
	return "yes"
}

// Tries of the program never come between callers of two gateways while one of
// them waits.
func queue(t *testing.T, c *column) string {
	name, holder, next := lockName(t), c.a.caller(t), c.b.caller(t)
	holder.takes(t, name, 0, long)
	const rounds = 20
	stop, tried := make(chan struct{}), make(chan string, 1)
	go func() {
		for {
			got, err := c.peer.ask("tries", "tries", c.kind, name, "200")
			if err != nil || got != "0" {
				tried <- got + " " + errorText(err)
				return
			}
			select {
			case <-stop:
				tried <- ""
				return
			default:
			}
		}
	}()
	for range rounds {
		granted := next.waits(t, name, long)
		holder.gives(t, name)
		(<-granted).mustHold(t, "a caller of the other gateway")
		holder, next = next, holder
	}
	close(stop)
	if got := <-tried; got != "" {
		t.Errorf("the program got the lock: %s", got)
	}
	holder.gives(t, name)
	return "yes"
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func fences(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	var last uint64
	larger := func(who string, fence uint64) {
		if fence <= last {
			t.Errorf("fence of %s = %d after %d", who, fence, last)
		}
		last = fence
	}
	for range 5 {
		larger("lockgw", k.takes(t, name, 0, long))
		k.gives(t, name)
		fence := c.takes(t, "w", name, 0, long)
		if c.kind == "RFencedLock" {
			larger("the program", fence)
		}
		c.gives(t, "w", name)
	}
	if c.kind != "RFencedLock" {
		return "lockgw's rise; the program has none"
	}
	return "yes, of both"
}

func force(t *testing.T, c *column) string {
	name, k := lockName(t), c.a.caller(t)
	k.takes(t, name, 0, lease)
	c.told(t, "done", "w", "force", name)
	began := time.Now()
	select {
	case n := <-k.notices:
		if n.Kind != "lost" || n.Reason != "gone" || n.Lock != name {
			t.Errorf("notice = %+v, want lost, gone", n)
		}
	case <-time.After(lease):
		t.Fatalf("the holder was not told within its lease of %v", lease)
	}
	took := time.Since(began)
	c.takes(t, "w", name, 0, long)
	if _, err := k.Unlock(t.Context(), name, client.UnlockOptions{}); err == nil {
		t.Error("the release of a lost lock succeeds")
	}
	k.refused(t, name, 0)
	c.gives(t, "w", name)
	if took > lease/2 {
		return "within the lease"
	}
	return "at the next renewal"
}
