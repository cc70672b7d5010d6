package redis_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

const someUUID = "7c8a1f3e-1111-4222-8333-444455556666"

// evicts has n end the hold of the program outside lockgw that was seen.
func (n *node) evicts(name string, seen ledger.Reply, bar time.Duration) (ledger.Reply, error) {
	s := n.swapOf(name, seen, ledger.Op{Verb: ledger.Break, Foreign: true, Bar: bar})
	s.Seen = seen.Seen
	return n.Swap(n.t.Context(), s)
}

// Whether the lock of a program outside lockgw ends, nobody waits or somebody does, or it is
// kept from everybody: who waits for it by itself is told to look again, for its end is another.
func TestTableEvicts(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	a, b := openNode(t, s.URL(), "a", redis.GuardNone), openNode(t, s.URL(), "b", redis.GuardNone)
	for name, tt := range map[string]struct {
		waits bool
		bar   time.Duration
		field string // of the lock then
	}{
		"free": {}, "offered": {waits: true, field: "b:1"}, "barred": {bar: time.Minute, field: "lockgw:delay"},
		"barred-and-waited": {waits: true, bar: time.Minute, field: "lockgw:delay"},
	} {
		heard := rdb.Subscribe(t.Context(), "redisson_lock__channel:{"+name+"}")
		t.Cleanup(func() { _ = heard.Close() })
		if _, err := heard.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		rdb.HSet(t.Context(), name, someUUID+":-7", 2) // lockAsync takes any long for a thread
		rdb.PExpire(t.Context(), name, time.Minute)
		if tt.waits {
			b.does(name, ledger.Op{Want: 1})
		}
		before := a.look(name)
		r, err := a.evicts(name, before, tt.bar)
		if err != nil || !r.Written || alien(r) != nil || tt.waits == (r.Record.Entry("b") == nil) {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		rdb.Publish(t.Context(), "redisson_lock__channel:{"+name+"}", "afterwards")
		told := 0
		for m, err := heard.ReceiveMessage(t.Context()); err == nil && m.Payload == "0"; m, err = heard.ReceiveMessage(t.Context()) {
			told++
		}
		if told != 1 {
			t.Errorf("%s: told %d times to look again, want once", name, told)
		}
		lock := rdb.HKeys(t.Context(), name).Val()
		if tt.field == "" && len(lock) != 0 || tt.field != "" && (len(lock) != 1 || lock[0] != tt.field) {
			t.Errorf("%s: the lock has the fields %q, want %q", name, lock, tt.field)
		}
		if now := b.look(name); alien(now) != nil || now.Version != r.Version || now.Seen != "" {
			t.Errorf("%s: b sees %+v", name, now)
		}
		if tt.waits && tt.bar == 0 {
			b.hears(name, ledger.Look)
			if r := b.does(name, ledger.Op{Want: 1}); r.Record.Firm("b") == nil {
				t.Errorf("%s: b takes what it is offered: %+v", name, r)
			}
			b.leaves(name)
		}
	}
}

// What a program outside lockgw has is ended only if it is a lock, and the one that was seen.
func TestTableEvictsOnlyWhatWasSeen(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb, ctx := s.Client(), t.Context()
	a := openNode(t, s.URL(), "a", redis.GuardNone)
	for what, put := range map[string]func(key string){
		"a-list":       func(key string) { rdb.RPush(ctx, key, "data") },
		"a-set":        func(key string) { rdb.SAdd(ctx, key, "data") },
		"a-zset":       func(key string) { rdb.ZAdd(ctx, key, goredis.Z{Score: 1, Member: "data"}) },
		"a-stream":     func(key string) { rdb.XAdd(ctx, &goredis.XAddArgs{Stream: key, Values: []string{"k", "v"}}) },
		"a-hash":       func(key string) { rdb.HSet(ctx, key, "name", "alice") },
		"a-large-hash": func(key string) { rdb.HSet(ctx, key, someUUID+":52", 1, "name", "alice") },
	} {
		put(what)
		was := rdb.Dump(ctx, what).Val()
		seen := a.look(what)
		if r, err := a.evicts(what, seen, 0); !errors.Is(err, backend.ErrConflict) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: seen as %q, %+v, %v", what, seen.Seen, r, err)
		}
		seen.Seen = "-1 string 0123"
		if r, err := a.evicts(what, seen, 0); err != nil || r.Written {
			t.Errorf("%s: taken for another: %+v, %v", what, r, err)
		}
		if rdb.Dump(ctx, what).Val() != was {
			t.Errorf("%s was changed", what)
		}
	}
	for what, change := range map[string]func(){
		"nothing any more":  func() { rdb.Del(ctx, "x") },
		"another value":     func() { rdb.Set(ctx, "x", "another value", 10*time.Second) },
		"a longer lease":    func() { rdb.PExpire(ctx, "x", time.Hour) },
		"no end":            func() { rdb.Persist(ctx, "x") },
		"another kind":      func() { rdb.Del(ctx, "x"); rdb.HSet(ctx, "x", someUUID+":1", 1); rdb.PExpire(ctx, "x", time.Second) },
		"another owner":     func() { rdb.Del(ctx, "x"); rdb.HSet(ctx, "x", someUUID+":2", 1); rdb.PExpire(ctx, "x", time.Second) },
		"one of lockgw now": func() { rdb.Del(ctx, "x"); a.takes("x") },
	} {
		rdb.Del(ctx, "x", "lockgw:{x}")
		rdb.Set(ctx, "x", "a secret value", 20*time.Second)
		if what == "another owner" {
			rdb.Del(ctx, "x")
			rdb.HSet(ctx, "x", someUUID+":1", 1)
			rdb.PExpire(ctx, "x", 20*time.Second)
		}
		seen := a.look("x")
		if strings.Contains(seen.Seen, "secret") || seen.Seen == "" {
			t.Errorf("what is told of it is %q", seen.Seen)
		}
		change()
		was := rdb.Exists(ctx, "x").Val()
		r, err := a.evicts("x", seen, 0)
		if err != nil || r.Written || rdb.Exists(ctx, "x").Val() != was {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
		if alien(r) == nil {
			continue
		}
		if r, err := a.evicts("x", r, 0); err != nil || !r.Written || rdb.Exists(ctx, "x").Val() != 0 {
			t.Errorf("%s: what was told then: %+v, %v", what, r, err)
		}
	}
}
