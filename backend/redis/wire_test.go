package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// wireLease is that of our holds here, shorter than Redisson's.
const wireLease = 3 * time.Second

// heldBy looks, and wants a program outside lockgw to hold the name.
func (n *node) heldBy(name, owner string) {
	n.t.Helper()
	r := n.look(name)
	h := alien(r)
	if h == nil || len(h.Callers) != 1 || h.Callers[0].Owner != backend.Owner(owner) || h.End <= 0 || h.End > javaLease {
		n.t.Errorf("look = %+v, want held by %s", r.Record, owner)
	}
}

// Our hold keeps Redisson out, its two types of lock alike, and its release does
// nothing; ours wakes it with one message.
func TestWireOurHold(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	n := openNode(t, s.URL(), "n", redis.GuardNone)
	j := newJava(t, s, 52)
	messages := j.listen("x")
	n.does("x", ledger.Op{Want: 1, TTL: wireLease})
	if left := j.lock("x"); left <= 0 || left > wireLease {
		t.Errorf("Redisson waits for %v, want the rest of our 3 s", left)
	}
	if token := j.fenced("x"); token != 0 {
		t.Errorf("Redisson has the lock with token %d", token)
	}
	if got := j.unlock("x"); got != nil {
		t.Errorf("Redisson's unlock of our lock = %v, want not the owner's", got)
	}
	if got := j.renew("x"); got[0] != int64(0) || j.rdb.PTTL(t.Context(), "x").Val() > wireLease {
		t.Errorf("Redisson's renewal of our lock = %v", got)
	}
	n.leaves("x")
	messages(1)
	if left := j.lock("x"); left != 0 {
		t.Errorf("Redisson waits for %v for a free lock", left)
	}
}

// Redisson hears that our hold has gone on to another gateway: it sleeps no longer than that one
// has to take it, and does not wait for a lease that is over if it never does.
func TestWireOffer(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := openNode(t, s.URL(), "a", redis.GuardNone), openNode(t, s.URL(), "b", redis.GuardNone)
	j := newJava(t, s, 52)
	messages := j.listen("x")
	a.does("x", ledger.Op{Want: 1, TTL: wireLease})
	b.does("x", ledger.Op{Want: 1})
	a.leaves("x")
	if left := j.lock("x"); left <= 0 || left > time.Second {
		t.Errorf("Redisson waits for %v, want the rest of the second of the offer", left)
	}
	b.takes("x") // what it was offered, of which Redisson need not hear
	messages(1)
}

// Redisson's hold keeps us out until its last exit, which wakes us.
func TestWireTheirHold(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	n := openNode(t, s.URL(), "n", redis.GuardNone)
	j := newJava(t, s, 52)
	for range 2 {
		if left := j.lock("x"); left != 0 {
			t.Fatalf("Redisson waits for %v for a free lock", left)
		}
	}
	n.heldBy("x", j.owner)
	n.does("x", ledger.Op{Want: 1})
	n.hears("x", ledger.Look) // the subscription stands
	if got := j.unlock("x"); got != int64(0) {
		t.Errorf("first exit = %v, want 0", got)
	}
	n.heldBy("x", j.owner)
	if got := j.unlock("x"); got != int64(1) {
		t.Errorf("last exit = %v, want 1", got)
	}
	n.hears("x", ledger.Look)
	n.takes("x")
	if j.lock("x") == 0 {
		t.Error("Redisson has our lock")
	}
}

// A release that comes when the lease is over and the lock another's ends nothing.
func TestWireLateRelease(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	n := openNode(t, s.URL(), "n", redis.GuardNone)
	j := newJava(t, s, 52)
	j.lock("theirs")
	j.rdb.Del(t.Context(), "theirs") // as when it has expired
	n.takes("theirs")
	was := j.rdb.Dump(t.Context(), "theirs").Val()
	if got := j.unlock("theirs"); got != nil || j.rdb.Dump(t.Context(), "theirs").Val() != was {
		t.Errorf("late unlock of Redisson = %v, and our lock: %v", got, j.rdb.HGetAll(t.Context(), "theirs").Val())
	}
	n.takes("ours")
	stale := n.look("ours")
	j.rdb.Del(t.Context(), "ours")
	j.lock("ours")
	messages := j.listen("ours")
	if _, err := n.Swap(t.Context(), n.swapOf("ours", stale, ledger.Op{Verb: ledger.Leave})); err != nil {
		t.Errorf("late release: %v", err)
	}
	messages(0)
	if j.rdb.HGet(t.Context(), "ours", j.owner).Val() != "1" {
		t.Error("our late release has ended Redisson's hold")
	}
}

// The renewals of both sides prolong their own holds alone.
func TestWireRenew(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	n := openNode(t, s.URL(), "n", redis.GuardNone)
	j := newJava(t, s, 52)
	j.lock("theirs")
	h := n.takes("ours")
	if got := j.renew("theirs", "ours"); got[0] != int64(1) || got[1] != int64(0) {
		t.Errorf("Redisson renews %v, want its own alone", got)
	}
	errs, err := n.Renew(t.Context(), []ledger.Renewal{{Name: "ours", ID: h.ID, TTL: time.Hour}, {Name: "theirs", ID: h.ID, TTL: time.Hour}})
	if err != nil || errs[0] != nil || !errors.Is(errs[1], backend.ErrNotHeld) {
		t.Errorf("renew = %v, %v, want our own alone", errs, err)
	}
	if ttl := j.rdb.PTTL(t.Context(), "theirs").Val(); ttl > javaLease {
		t.Errorf("we have prolonged Redisson's lock to %v", ttl)
	}
}

// forceUnlock ends a hold of either side, and says so on the channel.
func TestWireForceUnlock(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	n := openNode(t, s.URL(), "n", redis.GuardNone)
	j := newJava(t, s, 52)
	h := n.takes("x")
	messages := j.listen("x")
	if got := j.force("x"); got != int64(1) {
		t.Errorf("forceUnlock of our lock = %v, want 1", got)
	}
	errs, err := n.Renew(t.Context(), []ledger.Renewal{{Name: "x", ID: h.ID, TTL: time.Second}})
	if err != nil || !errors.Is(errs[0], backend.ErrNotHeld) {
		t.Errorf("renew = %v, %v, want not held", errs, err)
	}
	messages(1)
	j.lock("x")
	n.does("x", ledger.Op{Want: 1})
	n.hears("x", ledger.Look) // the subscription stands
	if got := newJava(t, s, 1).force("x"); got != int64(1) {
		t.Errorf("forceUnlock of Redisson's lock = %v, want 1", got)
	}
	n.hears("x", ledger.Look)
	n.takes("x")
}

// Where Redisson has made the counter of RFencedLock, its tokens and our fences rise
// together.
func TestWireFences(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	n := openNode(t, s.URL(), "n", redis.GuardNone)
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
	for range 3 {
		rises("Redisson", j.fenced("x"))
		rises("Redisson, again", j.fenced("x"))
		j.unlock("x")
		j.unlock("x")
		r, err := n.try("x", ledger.Op{Want: 1, Turns: 4})
		if err == nil && !r.Written { // it tells of the tokens
			r, err = n.Swap(t.Context(), n.swapOf("x", r, ledger.Op{Want: 1, Turns: 4}))
		}
		if err != nil || !r.Written {
			t.Fatalf("take = %+v, %v", r, err)
		}
		rises("lockgw", uint64(r.Record.Firm("n").ID))
		last += 3 // all of them may be given
		n.leaves("x")
	}
}

// An offer and a delay leave Redisson out, and tell it how long to wait.
func TestWireBetweenHolds(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := openNode(t, s.URL(), "a", redis.GuardNone), openNode(t, s.URL(), "b", redis.GuardNone)
	j := newJava(t, s, 52)
	a.takes("x")
	b.does("x", ledger.Op{Want: 1})
	began := time.Now()
	a.leaves("x")
	left := j.lock("x")
	if inTime := time.Since(began) < time.Second; inTime && left <= 0 || left > time.Second {
		t.Errorf("Redisson waits for %v, want the second of the offer", left)
	}
	a.takes("y")
	a.does("y", ledger.Op{Verb: ledger.Leave, Bar: 20 * time.Second})
	if left := j.lock("y"); left <= wireLease || left > 20*time.Second {
		t.Errorf("Redisson waits for %v, want the delay of 20 s", left)
	}
	if got := j.unlock("y"); got != nil {
		t.Errorf("Redisson's unlock of a delayed lock = %v, want not the owner's", got)
	}
}

// What a Java program's RReadWriteLock asks before it takes the lock, in words of our
// own. KEYS lock; ARGV owner, owner of a writer. Null: taken, else the rest of the lease.
const (
	wireRead = `
local mode = redis.call('HGET', KEYS[1], 'mode')
if not mode or mode == 'read' or mode == 'write' and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then return nil end
return redis.call('PTTL', KEYS[1])`
	wireWrite = `
local mode = redis.call('HGET', KEYS[1], 'mode')
if not mode or mode == 'write' and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then return nil end
return redis.call('PTTL', KEYS[1])`
)

// Programs with Redisson find a name that several hold here taken.
func TestWireOurShares(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	n := openNode(t, s.URL(), "n", redis.GuardNone)
	for name, mode := range map[string]backend.Mode{"shared": backend.Shared, "semaphore": 3} {
		n.does(name, ledger.Op{Want: 1, Mode: mode, TTL: wireLease})
		for what, script := range map[string]string{"read": wireRead, "write": wireWrite, "lock": wireLock} {
			args := []any{"java:1", "java:1:write"}
			if what == "lock" {
				args = []any{30_000, "java:1"}
			}
			rest, err := rdb.Eval(t.Context(), script, []string{name}, args...).Int64()
			if err != nil || rest <= 0 || rest > wireLease.Milliseconds() {
				t.Errorf("%s of a %s name = %d, %v, want the rest of the lease", what, name, rest, err)
			}
		}
	}
}
