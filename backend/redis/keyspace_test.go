package redis_test

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// waiting opens a node that waits for x, which is held by a string key, once it listens
// for the release. The key has a prefix, which no name has.
func waiting(t *testing.T, url string, rdb *goredis.Client) *node {
	t.Helper()
	table, err := redis.OpenTable(redis.Config{URL: url, KeyPrefix: "app:", Node: backend.Node{ID: "n"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	n := &node{Table: table, t: t, id: "n", told: make(chan ledger.Addressed, 1000)}
	n.Listen(func(m ledger.Addressed) { n.told <- m })
	n.hears("", ledger.Resync)
	rdb.Set(t.Context(), "app:x", "secret", 30*time.Second)
	n.does("x", ledger.Op{Want: 1})
	n.hears("x", ledger.Look) // the subscription stands
	return n
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
			n := waiting(t, urlOf(t, s, tc.user)+tc.path, rdb)
			rdb.Del(t.Context(), "app:x")
			n.hears("x", ledger.Look)
			n.takes("x")
			if rdb.Exists(t.Context(), "app:x", "lockgw:{app:x}").Val() != 2 {
				t.Errorf("keys = %v, want those of app:x", rdb.Keys(t.Context(), "*").Val())
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
			n := waiting(t, urlOf(t, s, tc.user), rdb)
			if c := listeners(t, rdb, "__keyspace@0__:app:x"); c != 0 {
				t.Errorf("%d listen to the key, want none", c)
			}
			if err := n.Ping(ctx); err != nil {
				t.Errorf("ping: %v", err)
			}
			if err := n.Send(ctx, []ledger.Addressed{{Name: "ok", Message: ledger.Message{Node: "n", Kind: ledger.Tell, Text: "?"}}}); err != nil {
				t.Fatal(err)
			}
			n.hears("ok", ledger.Tell)
			if after := rdb.ConfigGet(ctx, "notify-keyspace-events").Val(); after["notify-keyspace-events"] != before["notify-keyspace-events"] {
				t.Errorf("notify-keyspace-events = %q, want %q as before", after, before)
			}
		})
	}
}

// The next holder may be a Redisson program, and the one after that ourselves: who
// waits listens to what the present holder does, and to nothing in the end, nor once it
// waits no more.
func TestKeyspaceFollowsTheHolder(t *testing.T) {
	s := redistest.Start(t, "--notify-keyspace-events", "Kg")
	rdb, ctx := s.Client(), t.Context()
	n := waiting(t, s.URL(), rdb)
	const key, channel = "__keyspace@0__:app:x", "redisson_lock__channel:{app:x}"
	listen := func(onKey, onChannel int64) {
		t.Helper()
		within(t, "the node listens where it has to", func() bool {
			return listeners(t, rdb, key) == onKey && listeners(t, rdb, channel) == onChannel
		})
	}
	java := func() {
		t.Helper()
		_, err := rdb.TxPipelined(ctx, func(p goredis.Pipeliner) error {
			p.Del(ctx, "app:x")
			p.HSet(ctx, "app:x", "java:1", 1)
			p.PExpire(ctx, "app:x", 30*time.Second)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	listen(1, 0)
	java()
	n.hears("x", ledger.Look)
	n.look("x")
	listen(0, 1)
	n.leaves("x") // its place in the queue
	listen(0, 0)
	n.does("x", ledger.Op{Want: 1})
	listen(0, 1)
	n.drain()
	rdb.Del(ctx, "app:x")
	rdb.Publish(ctx, channel, "0")
	n.hears("x", ledger.Look)
	n.takes("x")
	listen(0, 0)
}
