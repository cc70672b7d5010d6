package redis_test

import (
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

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
	s := redistest.Start(t)
	rdb := s.Client()
	b := open(t, s, "", backend.Node{ID: "n", Incarnation: 1})
	b.Listen(func(backend.Hint) {})
	for i, mode := range []backend.Mode{backend.Shared, 3} {
		name := []string{"shared", "semaphore"}[i]
		r := ask(name, 1)
		r.Slot, r.Mode = "1", mode
		granted(t, b, r)
		for what, script := range map[string]string{"read": wireRead, "write": wireWrite, "lock": wireLock} {
			args := []any{"java:1", "java:1:write"}
			if what == "lock" {
				args = []any{30_000, "java:1"}
			}
			rest, err := rdb.Eval(t.Context(), script, []string{name}, args...).Int64()
			if err != nil || rest <= 0 || rest > 2000 {
				t.Errorf("%s of a %s name = %d, %v, want the rest of the lease", what, name, rest, err)
			}
		}
	}
}

// What others use a name for, with which our modes would not go, is a conflict; what
// is only a lock is waited for.
func TestOtherKinds(t *testing.T) {
	s := redistest.Start(t)
	rdb, ctx := s.Client(), t.Context()
	b := open(t, s, "", backend.Node{ID: "n", Incarnation: 1})
	b.Listen(func(backend.Hint) {})
	for _, tt := range []struct {
		what                         string
		make                         func(name string)
		exclusive, shared, semaphore error
	}{
		{"readers", func(name string) { rdb.HSet(ctx, name, "mode", "read", "java:1", 1) },
			backend.ErrConflict, backend.ErrConflict, backend.ErrConflict},
		{"writer", func(name string) { rdb.HSet(ctx, name, "mode", "write", "java:1:write", 1) },
			backend.ErrConflict, backend.ErrConflict, backend.ErrConflict},
		{"java-lock", func(name string) { rdb.HSet(ctx, name, "java:1", 1) },
			backend.ErrHeld, backend.ErrHeld, backend.ErrConflict},
		{"string-lock", func(name string) { rdb.Set(ctx, name, "somebody", 0) },
			backend.ErrHeld, backend.ErrHeld, backend.ErrConflict},
		{"permits", func(name string) { rdb.Set(ctx, name, 3, 0) },
			backend.ErrHeld, backend.ErrHeld, backend.ErrConflict},
	} {
		tt.make(tt.what)
		rdb.PExpire(ctx, tt.what, 30*time.Second)
		before := dump(t, rdb, tt.what)
		for i, want := range map[backend.Mode]error{backend.Exclusive: tt.exclusive, backend.Shared: tt.shared, 3: tt.semaphore} {
			r := ask(tt.what, uint64(i+10))
			r.Slot, r.Mode = i.String(), i
			if _, err := b.Acquire(ctx, r); !errors.Is(err, want) {
				t.Errorf("%s of a name with %s = %v, want %v", i, tt.what, err, want)
			}
		}
		if after := dump(t, rdb, tt.what); after != before {
			t.Errorf("%s was changed", tt.what)
		}
	}
}

func dump(t *testing.T, rdb *goredis.Client, key string) string {
	t.Helper()
	text, err := rdb.Dump(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	return text
}
