package redis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// waiting opens a node that waits for a name held by a string key, once it listens
// for the release.
func waiting(t *testing.T, url string, rdb *goredis.Client) (*redis.Backend, <-chan backend.Hint) {
	t.Helper()
	b, err := openWith(t.Context(), url, "app:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	hints := make(chan backend.Hint, 100)
	b.Listen(func(h backend.Hint) { hints <- h })
	hears(t, hints, backend.HintResync)
	rdb.Set(t.Context(), "app:x", "secret", 30*time.Second)
	queued(t, b, 1)
	hears(t, hints, backend.HintFree) // the subscription stands: look again
	queued(t, b, 1)
	return b, hints
}

func queued(t *testing.T, b *redis.Backend, seq uint64) {
	t.Helper()
	if a, err := b.Acquire(t.Context(), request("x", seq)); err != nil || !a.Queued {
		t.Fatalf("acquire = %+v, %v, want queued", a, err)
	}
}

// listeners counts who listens to a channel.
func listeners(t *testing.T, rdb *goredis.Client, channel string) int64 {
	t.Helper()
	n, err := rdb.PubSubNumSub(t.Context(), channel).Result()
	if err != nil {
		t.Fatal(err)
	}
	return n[channel]
}

// Where Redis tells that a string key is gone, that wakes who waits for it.
func TestKeyspaceWakes(t *testing.T) {
	for _, tc := range []struct {
		name, flags, path string
		db                int
		user              []any // ACL SETUSER
	}{
		{name: "keys and generic commands", flags: "Kg"},
		{name: "everything", flags: "KA"},
		{name: "another database", flags: "KEA", path: "/3", db: 3},
		{name: "CONFIG is forbidden", flags: "Kg", user: []any{"~*", "&*", "+@all", "-config"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := redistest.Start(t, "--notify-keyspace-events", tc.flags)
			rdb := goredis.NewClient(&goredis.Options{Addr: s.Addr, DB: tc.db})
			defer rdb.Close()
			b, hints := waiting(t, urlOf(t, s, tc.user)+tc.path, rdb)
			rdb.Del(t.Context(), "app:x")
			if h := hears(t, hints, backend.HintFree); h.Name != "x" {
				t.Errorf("hint = %+v, want one about x", h)
			}
			if a, err := b.Acquire(t.Context(), request("x", 1)); err != nil || !a.Granted {
				t.Errorf("acquire = %+v, %v, want granted", a, err)
			}
		})
	}
}

// urlOf is the address of s for a user of these rights, or for any.
func urlOf(t *testing.T, s *redistest.Server, rights []any) string {
	t.Helper()
	if rights == nil {
		return s.URL()
	}
	set := append([]any{"acl", "setuser", "locks", "on", ">secret", "resetkeys", "resetchannels"}, rights...)
	if err := s.Client().Do(t.Context(), set...).Err(); err != nil {
		t.Fatal(err)
	}
	return "redis://locks:secret@" + s.Addr
}

// Where Redis does not tell, or not this user, nothing is subscribed to, and all
// other messages arrive as ever. The setting stays as it was.
func TestKeyspaceSilent(t *testing.T) {
	for _, tc := range []struct {
		name, flags string
		user        []any
	}{
		{"off", "", nil},
		{"events alone", "Eg", nil},
		{"keys of other events", "Kx", nil},
		{"channels are forbidden", "Kg", []any{"~*", "&lockgw:*", "&redisson_lock*", "+@all"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := redistest.Start(t, "--notify-keyspace-events", tc.flags)
			rdb, ctx := s.Client(), t.Context()
			before := rdb.ConfigGet(ctx, "notify-keyspace-events").Val()
			b, hints := waiting(t, urlOf(t, s, tc.user), rdb)
			if n := listeners(t, rdb, "__keyspace@0__:app:x"); n != 0 {
				t.Errorf("%d listen to the key, want none", n)
			}
			if err := b.Ping(ctx); err != nil {
				t.Errorf("ping: %v", err)
			}
			rdb.Publish(ctx, "lockgw:node:n:1", "g 5 - ok")
			if h := hears(t, hints, backend.HintGranted); h.Name != "ok" {
				t.Errorf("hint = %+v, want the message to the node", h)
			}
			if after := rdb.ConfigGet(ctx, "notify-keyspace-events").Val(); after["notify-keyspace-events"] != before["notify-keyspace-events"] {
				t.Errorf("notify-keyspace-events = %q, want %q as before", after, before)
			}
		})
	}
}

// The next holder may be a Redisson program, and the one after that ourselves: who
// waits listens to what the present holder does, and to nothing in the end.
func TestKeyspaceFollowsTheHolder(t *testing.T) {
	s := redistest.Start(t, "--notify-keyspace-events", "Kg")
	rdb, ctx := s.Client(), t.Context()
	b, hints := waiting(t, s.URL(), rdb)
	const key, channel = "__keyspace@0__:app:x", "redisson_lock__channel:{app:x}"
	listen := func(onKey, onChannel int64) {
		t.Helper()
		for began := time.Now(); listeners(t, rdb, key) != onKey || listeners(t, rdb, channel) != onChannel; time.Sleep(5 * time.Millisecond) {
			if time.Since(began) > 10*time.Second {
				t.Fatalf("%d listen to the key and %d to the channel, want %d and %d", listeners(t, rdb, key), listeners(t, rdb, channel), onKey, onChannel)
			}
		}
	}
	listen(1, 0)
	_, err := rdb.TxPipelined(ctx, func(p goredis.Pipeliner) error {
		p.Del(ctx, "app:x")
		p.HSet(ctx, "app:x", "java:1", 1)
		p.PExpire(ctx, "app:x", 30*time.Second)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	hears(t, hints, backend.HintFree)
	queued(t, b, 1)
	listen(0, 1)
	rdb.Del(ctx, "app:x")
	rdb.Publish(ctx, channel, "0")
	hears(t, hints, backend.HintFree)
	if a, err := b.Acquire(context.WithoutCancel(ctx), request("x", 1)); err != nil || !a.Granted {
		t.Fatalf("acquire = %+v, %v, want granted", a, err)
	}
	listen(0, 0)
}

// Nobody listens any more for one who has left, whatever the store answers, or who was
// turned away.
func TestNoWatchIsLeft(t *testing.T) {
	s := redistest.Start(t)
	rdb := s.Client()
	channel := "redisson_lock__channel:{app:x}"
	silent := func(what string) {
		t.Helper()
		for began := time.Now(); listeners(t, rdb, channel) > 0; time.Sleep(5 * time.Millisecond) {
			if time.Since(began) > 10*time.Second {
				t.Fatalf("%s: still listens to %s", what, channel)
			}
		}
	}
	b, _ := waiting(t, s.URL(), rdb)
	if n := listeners(t, rdb, channel); n != 1 {
		t.Fatalf("%d listen to %s, want 1", n, channel)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Cancel(gone, request("x", 2)); !errors.Is(err, backend.ErrUnavailable) {
		t.Fatalf("cancel = %v, want no answer", err)
	}
	silent("after a cancel without an answer")

	queued(t, b, 3)
	rdb.Del(t.Context(), "app:x")
	rdb.HSet(t.Context(), "app:x", "mode", "write", "uuid:1:write", "1")
	if _, err := b.Acquire(t.Context(), request("x", 4)); !errors.Is(err, backend.ErrConflict) {
		t.Fatalf("acquire = %v, want a conflict with a lock of another kind", err)
	}
	silent("after a conflict")
}
