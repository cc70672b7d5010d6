package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

func granted(t *testing.T, b backend.Backend, r backend.Request) backend.Answer {
	t.Helper()
	a, err := b.Acquire(t.Context(), r)
	if err != nil || !a.Granted {
		t.Fatalf("acquire %d of %s = %+v, %v, want granted", r.Seq, r.Name, a, err)
	}
	return a
}

func released(t *testing.T, b backend.Backend, r backend.Request, a backend.Answer) {
	t.Helper()
	r.Hold, r.Turn, r.Queue = a.Hold, a.Hold, false
	r.Seq++
	if _, err := b.Release(t.Context(), r); err != nil {
		t.Fatalf("release: %v", err)
	}
}

// heldBy tries, and wants another to hold the name.
func heldBy(t *testing.T, b backend.Backend, name string, seq uint64, by string) {
	t.Helper()
	try := request(name, seq)
	try.Queue = false
	a, err := b.Acquire(t.Context(), try)
	if !errors.Is(err, backend.ErrHeld) || !a.Holder.Foreign || a.Holder.Owner != backend.Owner(by) || a.Wait <= 0 || a.Wait > javaLease {
		t.Errorf("try = %+v, %v, want held by %s", a, err, by)
	}
}

// Our hold keeps Redisson out, its two types of lock alike, and its release does
// nothing; ours wakes it with one message.
func TestWireOurHold(t *testing.T) {
	s := redistest.Start(t)
	b, _ := listening(t, s, "n")
	j := newJava(t, s, 52)
	messages := j.listen("x")
	a := granted(t, b, request("x", 1))
	if left := j.lock("x"); left <= 0 || left > 3*time.Second {
		t.Errorf("Redisson waits for %v, want the rest of our 3 s", left)
	}
	if token := j.fenced("x"); token != 0 {
		t.Errorf("Redisson has the lock with token %d", token)
	}
	if got := j.unlock("x"); got != nil {
		t.Errorf("Redisson's unlock of our lock = %v, want not the owner's", got)
	}
	if got := j.renew("x"); got[0] != int64(0) || j.rdb.PTTL(t.Context(), "x").Val() > 3*time.Second {
		t.Errorf("Redisson's renewal of our lock = %v", got)
	}
	released(t, b, request("x", 1), a)
	messages(1)
	if left := j.lock("x"); left != 0 {
		t.Errorf("Redisson waits for %v for a free lock", left)
	}
}

// Redisson's hold keeps us out until its last exit, which wakes us.
func TestWireTheirHold(t *testing.T) {
	s := redistest.Start(t)
	b, hints := listening(t, s, "n")
	j := newJava(t, s, 52)
	for range 2 {
		if left := j.lock("x"); left != 0 {
			t.Fatalf("Redisson waits for %v for a free lock", left)
		}
	}
	heldBy(t, b, "x", 1, j.owner)
	if st, err := b.Inspect(t.Context(), "x"); err != nil || !st.Foreign || st.Owner != backend.Owner(j.owner) || st.Count != 2 {
		t.Errorf("status = %+v, %v, want two entries of Redisson", st, err)
	}
	if a, err := b.Acquire(t.Context(), request("x", 2)); err != nil || !a.Queued {
		t.Fatalf("acquire = %+v, %v, want queued", a, err)
	}
	hears(t, hints, backend.HintFree) // the subscription stands
	if got := j.unlock("x"); got != int64(0) {
		t.Errorf("first exit = %v, want 0", got)
	}
	heldBy(t, b, "x", 3, j.owner)
	if a, err := b.Acquire(t.Context(), request("x", 4)); err != nil || !a.Queued {
		t.Fatalf("acquire = %+v, %v, want queued", a, err)
	}
	hears(t, hints, backend.HintFree)
	if got := j.unlock("x"); got != int64(1) {
		t.Errorf("last exit = %v, want 1", got)
	}
	hears(t, hints, backend.HintFree)
	granted(t, b, request("x", 4))
	if j.lock("x") == 0 {
		t.Error("Redisson has our lock")
	}
}

// A release that comes when the lease is over and the lock another's ends nothing.
func TestWireLateRelease(t *testing.T) {
	s := redistest.Start(t)
	b, _ := listening(t, s, "n")
	j := newJava(t, s, 52)
	j.lock("theirs")
	j.rdb.Del(t.Context(), "theirs") // as when it has expired
	granted(t, b, request("theirs", 1))
	if got := j.unlock("theirs"); got != nil || j.rdb.HGet(t.Context(), "theirs", string(owner)).Val() != "1" {
		t.Errorf("late unlock of Redisson = %v, and our lock: %v", got, j.rdb.HGetAll(t.Context(), "theirs").Val())
	}
	a := granted(t, b, request("ours", 2))
	j.rdb.Del(t.Context(), "ours")
	j.lock("ours")
	messages := j.listen("ours")
	released(t, b, request("ours", 2), a)
	messages(0)
	if j.rdb.HGet(t.Context(), "ours", j.owner).Val() != "1" {
		t.Error("our late release has ended Redisson's hold")
	}
}

// The renewals of both sides prolong their own holds alone.
func TestWireRenew(t *testing.T) {
	s := redistest.Start(t)
	b, _ := listening(t, s, "n")
	j := newJava(t, s, 52)
	j.lock("theirs")
	a := granted(t, b, request("ours", 1))
	if got := j.renew("theirs", "ours"); got[0] != int64(1) || got[1] != int64(0) {
		t.Errorf("Redisson renews %v, want its own alone", got)
	}
	errs, err := b.Renew(t.Context(), []backend.Renewal{{Name: "ours", Hold: a.Hold, TTL: time.Hour}, {Name: "theirs", Hold: a.Hold, TTL: time.Hour}})
	if err != nil || errs[0] != nil || !errors.Is(errs[1], backend.ErrNotHeld) {
		t.Errorf("renew = %v, %v, want our own alone", errs, err)
	}
	if ttl := j.rdb.PTTL(t.Context(), "theirs").Val(); ttl > javaLease {
		t.Errorf("we have prolonged Redisson's lock to %v", ttl)
	}
}

// forceUnlock ends a hold of either side, and says so on the channel.
func TestWireForceUnlock(t *testing.T) {
	s := redistest.Start(t)
	b, hints := listening(t, s, "n")
	j := newJava(t, s, 52)
	a := granted(t, b, request("x", 1))
	messages := j.listen("x")
	if got := j.force("x"); got != int64(1) {
		t.Errorf("forceUnlock of our lock = %v, want 1", got)
	}
	errs, err := b.Renew(t.Context(), []backend.Renewal{{Name: "x", Hold: a.Hold, TTL: time.Second}})
	if err != nil || !errors.Is(errs[0], backend.ErrNotHeld) {
		t.Errorf("renew = %v, %v, want not held", errs, err)
	}
	messages(1)
	j.lock("x")
	if a, err := b.Acquire(t.Context(), request("x", 2)); err != nil || !a.Queued {
		t.Fatalf("acquire = %+v, %v, want queued", a, err)
	}
	hears(t, hints, backend.HintFree) // the subscription stands
	if got := newJava(t, s, 1).force("x"); got != int64(1) {
		t.Errorf("forceUnlock of Redisson's lock = %v, want 1", got)
	}
	hears(t, hints, backend.HintFree)
	granted(t, b, request("x", 2))
}

// Tokens of RFencedLock and our fences are of one counter, and rise.
func TestWireFences(t *testing.T) {
	s := redistest.Start(t)
	b, _ := listening(t, s, "n")
	j := newJava(t, s, 52)
	var last uint64
	rises := func(who string, fence uint64) {
		t.Helper()
		if fence <= last {
			t.Errorf("fence of %s = %d after %d", who, fence, last)
		}
		last = fence
	}
	j.rdb.Set(t.Context(), "redisson_lock_token:{x}", uint64(1)<<52, 0) // the clock alone would not do
	for i := range uint64(3) {
		rises("Redisson", j.fenced("x"))
		rises("Redisson, again", j.fenced("x"))
		j.unlock("x")
		j.unlock("x")
		a := granted(t, b, request("x", 2*i+1))
		rises("lockgw", uint64(a.Block))
		last = uint64(a.Block) + uint64(a.Turns) - 1 // all of them may be given
		released(t, b, request("x", 2*i+1), a)
	}
}

// A hand-off and a delay leave Redisson out, and tell it how long to wait.
func TestWireBetweenHolds(t *testing.T) {
	s := redistest.Start(t)
	b, _ := listening(t, s, "n")
	c, _ := listening(t, s, "m")
	j := newJava(t, s, 52)
	a := granted(t, b, request("x", 1))
	if a, err := c.Acquire(t.Context(), request("x", 1)); err != nil || !a.Queued {
		t.Fatalf("acquire = %+v, %v, want queued", a, err)
	}
	began := time.Now()
	released(t, b, request("x", 1), a)
	left := j.lock("x")
	if inTime := time.Since(began) < redis.Window; inTime && left <= 0 || left > redis.Window {
		t.Errorf("Redisson waits for %v, want the second in which the next node confirms", left)
	}
	a = granted(t, b, request("y", 3))
	r := request("y", 4)
	r.Hold, r.Turn, r.Queue, r.Delay = a.Hold, a.Hold, false, 20*time.Second
	if _, err := b.Release(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if left := j.lock("y"); left <= 3*time.Second || left > 20*time.Second {
		t.Errorf("Redisson waits for %v, want the delay of 20 s", left)
	}
	if got := j.unlock("y"); got != nil {
		t.Errorf("Redisson's unlock of a delayed lock = %v, want not the owner's", got)
	}
}
