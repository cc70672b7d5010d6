package redis_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// What a Java program's Redisson sends for RLock and RFencedLock, in words of our
// own. make interop runs the real one.
const (
	// KEYS lock; ARGV lease ms, owner. Null: taken, else the rest of the lease.
	wireLock = `
local here = redis.call('EXISTS', KEYS[1])
if here == 1 and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return redis.call('PTTL', KEYS[1]) end
redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return nil`
	// KEYS lock, token; ARGV as above. {-1, token}: taken, else {rest, -1}.
	wireFencedLock = `
local here = redis.call('EXISTS', KEYS[1])
if here == 1 and redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return {redis.call('PTTL', KEYS[1]), -1} end
local token = redis.call('INCR', KEYS[2])
redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return {-1, token}`
	// KEYS lock, channel, latch; ARGV message, lease ms, owner, PUBLISH, ms of the latch.
	// Null: not the owner's; 0: entered still; 1: free.
	wireUnlock = `
local told = redis.call('GET', KEYS[3])
if told then return tonumber(told) end
if redis.call('HEXISTS', KEYS[1], ARGV[3]) == 0 then return nil end
local free = redis.call('HINCRBY', KEYS[1], ARGV[3], -1) <= 0
if free then
  redis.call('DEL', KEYS[1])
  redis.call(ARGV[4], KEYS[2], ARGV[1])
else
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
redis.call('SET', KEYS[3], free and 1 or 0, 'PX', ARGV[5])
return free and 1 or 0`
	// KEYS locks; ARGV lease ms, owner of each. 1 for each that was prolonged.
	wireRenew = `
local results = {}
for i, lock in ipairs(KEYS) do
  results[i] = 0
  if redis.call('HEXISTS', lock, ARGV[i + 1]) == 1 then
    redis.call('PEXPIRE', lock, ARGV[1])
    results[i] = 1
  end
end
return results`
	// KEYS lock, channel; ARGV message, PUBLISH. 1: there was one.
	wireForce = `
if redis.call('DEL', KEYS[1]) == 0 then return 0 end
redis.call(ARGV[2], KEYS[2], ARGV[1])
return 1`
)

const javaLease = 30 * time.Second

// java is a thread of a Java program.
type java struct {
	t     *testing.T
	rdb   *goredis.Client
	owner string
	calls int
}

func newJava(t *testing.T, s *redistest.Server, thread int) *java {
	return &java{t: t, rdb: s.Client(), owner: fmt.Sprintf("7c8a1f3e-1111-4222-8333-444455556666:%d", thread)}
}

func channelOf(name string) string { return "redisson_lock__channel:{" + name + "}" }

// run returns nil for a null.
func (j *java) run(script string, keys []string, args ...any) any {
	j.t.Helper()
	v, err := j.rdb.Eval(j.t.Context(), script, keys, args...).Result()
	if err != nil && !errors.Is(err, goredis.Nil) {
		j.t.Fatalf("Redisson's script fails: %v", err)
	}
	return v
}

// lock returns the rest of the lease of another holder, 0 if j has the lock.
func (j *java) lock(name string) time.Duration {
	j.t.Helper()
	left, busy := j.run(wireLock, []string{name}, javaLease.Milliseconds(), j.owner).(int64)
	if busy && left <= 0 {
		j.t.Errorf("PTTL %s = %d: Redisson would wait for ever", name, left)
	}
	return time.Duration(left) * time.Millisecond
}

// fenced returns the token, 0 if another holds the lock.
func (j *java) fenced(name string) uint64 {
	j.t.Helper()
	v := j.run(wireFencedLock, []string{name, "redisson_lock_token:{" + name + "}"}, javaLease.Milliseconds(), j.owner).([]any)
	left, token := v[0].(int64), v[1].(int64)
	switch {
	case left == -1 && token == -1:
		j.t.Errorf("%s has no expiry: Redisson believes that it has the lock", name)
		return 0
	case left == -1:
		return uint64(token)
	default:
		return 0
	}
}

// unlock returns nil if the lock is not j's, else whether it is free (1).
func (j *java) unlock(name string) any {
	j.t.Helper()
	j.calls++
	latch := fmt.Sprintf("redisson_unlock_latch:{%s}:%032x", name, j.calls)
	return j.run(wireUnlock, []string{name, channelOf(name), latch}, "0", javaLease.Milliseconds(), j.owner, "PUBLISH", 16_000)
}

func (j *java) renew(names ...string) []any {
	j.t.Helper()
	args := []any{javaLease.Milliseconds()}
	for range names {
		args = append(args, j.owner)
	}
	return j.run(wireRenew, names, args...).([]any)
}

func (j *java) force(name string) any {
	j.t.Helper()
	return j.run(wireForce, []string{name, channelOf(name)}, "0", "PUBLISH")
}

// listen subscribes as a thread that waits does. The function returned wants
// exactly that many messages, each a 0.
func (j *java) listen(name string) func(n int) {
	j.t.Helper()
	sub := j.rdb.Subscribe(j.t.Context(), channelOf(name))
	j.t.Cleanup(func() { _ = sub.Close() })
	if _, err := sub.Receive(j.t.Context()); err != nil {
		j.t.Fatal(err)
	}
	return func(n int) {
		j.t.Helper()
		j.rdb.Publish(j.t.Context(), channelOf(name), "end")
		for i := 0; ; i++ {
			soon, cancel := context.WithTimeout(j.t.Context(), time.Minute)
			m, err := sub.ReceiveMessage(soon)
			cancel()
			switch {
			case err != nil:
				j.t.Fatal(err)
			case m.Payload == "end":
				if i != n {
					j.t.Errorf("%d messages on %s, want %d", i, channelOf(name), n)
				}
				return
			case m.Payload != "0":
				j.t.Errorf("message %q, want 0: Redisson reads a number", m.Payload)
			}
		}
	}
}
