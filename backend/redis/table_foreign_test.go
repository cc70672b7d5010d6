package redis_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

func alien(r ledger.Reply) *ledger.Hold {
	for i, h := range r.Record.Holds {
		if h.ID == 0 && h.Node == "" {
			return &r.Record.Holds[i]
		}
	}
	return nil
}

// Who waits for a lock of a program outside lockgw is told of its rest by each write, not by
// the first one alone.
func TestTableTellsTheRestOfForeignLocks(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := openNode(t, s.URL(), "a", redis.GuardNone), openNode(t, s.URL(), "b", redis.GuardNone)
	s.Client().SetNX(t.Context(), "x", "token", time.Hour)
	for _, r := range []ledger.Reply{a.does("x", ledger.Op{Want: 1}), b.does("x", ledger.Op{Want: 1})} {
		if h := alien(r); h == nil || h.End < 50*time.Minute {
			t.Errorf("after a write the holder is %+v", h)
		}
	}
	s.Client().Persist(t.Context(), "x")
	if h := alien(a.does("x", ledger.Op{Want: 1, Waiters: 2})); h == nil || !h.Endless || h.End != tableQuarantine {
		t.Errorf("after a write the holder that has no end is %+v", h)
	}
}

// Some programs lock for as long as their language can count.
func TestTableBearsForeignLocksForEver(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a := openNode(t, s.URL(), "a", redis.GuardNone)
	for _, ms := range []string{"922337203685477", "4611686018427387904", "9000000000000000000"} {
		name := "x" + ms
		if err := s.Client().Do(t.Context(), "set", name, "token", "px", ms).Err(); err != nil {
			t.Fatal(err)
		}
		for _, r := range []ledger.Reply{a.does(name, ledger.Op{Want: 1}), a.look(name)} {
			if h := alien(r); h == nil || h.Endless || h.End < 24*365*time.Hour {
				t.Errorf("for %s ms the holder is %+v", ms, h)
			}
		}
		seen := a.look(name)
		s := a.swapOf(name, seen, ledger.Op{Verb: ledger.Break, Foreign: true})
		s.Seen = seen.Seen
		if r, err := a.Swap(t.Context(), s); err != nil || !r.Written || alien(r) != nil {
			t.Errorf("for %s ms the holder is not ended: %+v, %v", ms, r, err)
		}
	}
}

// Whatever a program outside lockgw has under the name is seen, waited for, and not touched.
func TestTableSeesForeignLocks(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--notify-keyspace-events", "Kg")
	rdb := s.Client()
	a := openNode(t, s.URL(), "a", redis.GuardNone)
	for kind, tt := range map[string]struct {
		lock  func(p goredis.Pipeliner, key string)
		free  func(key string)
		owner backend.Owner
		ttl   bool
	}{
		"Redisson": {
			lock: func(p goredis.Pipeliner, key string) {
				p.HSet(t.Context(), key, "uuid:7", 2)
				p.PExpire(t.Context(), key, time.Minute)
			},
			free: func(key string) {
				rdb.Del(t.Context(), key)
				rdb.Publish(t.Context(), "redisson_lock__channel:{"+key+"}", "0")
			},
			owner: "uuid:7", ttl: true,
		},
		"SET NX PX": {
			lock: func(p goredis.Pipeliner, key string) { p.SetNX(t.Context(), key, "token", time.Minute) },
			free: func(key string) { rdb.Del(t.Context(), key) }, ttl: true,
		},
		"SET NX": {
			lock: func(p goredis.Pipeliner, key string) { p.SetNX(t.Context(), key, "token", 0) },
			free: func(key string) { rdb.Del(t.Context(), key) },
		},
		"list": {
			lock: func(p goredis.Pipeliner, key string) { p.RPush(t.Context(), key, "x") },
			free: func(key string) { rdb.Del(t.Context(), key) },
		},
	} {
		name := strings.ReplaceAll(kind, " ", "-")
		before := a.look(name)
		p := rdb.Pipeline()
		tt.lock(p, name)
		if _, err := p.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		was := rdb.Dump(t.Context(), name).Val()
		r, err := a.Swap(t.Context(), a.swapOf(name, before, ledger.Op{Want: 1}))
		if err != nil || r.Written {
			t.Fatalf("%s: granted beside a foreign lock: %+v, %v", kind, r, err)
		}
		h := alien(r)
		if h == nil || h.End <= 0 || h.End > time.Minute || tt.ttl && h.End < 50*time.Second || h.Endless == tt.ttl {
			t.Fatalf("%s: told %+v", kind, r.Record)
		}
		if tt.owner != "" && (len(h.Callers) != 1 || h.Callers[0].Owner != tt.owner) {
			t.Errorf("%s: the owner is told as %+v", kind, h.Callers)
		}
		if r := a.does(name, ledger.Op{Want: 1}); alien(r) == nil || r.Record.Entry("a") == nil || r.Record.Firm("a") != nil || alien(r).End <= 0 {
			t.Errorf("%s: a waits as %+v", kind, r.Record)
		}
		if now := rdb.Dump(t.Context(), name).Val(); now != was {
			t.Errorf("%s: the lock was changed", kind)
		}
		if r := a.look(name); alien(r) == nil || r.Record.Entry("a") == nil {
			t.Errorf("%s: then there is %+v", kind, r.Record)
		}
		a.hears(name, ledger.Look) // the subscription stands
		time.Sleep(10 * time.Millisecond)
		tt.free(name)
		a.hears(name, ledger.Look)
		if r := a.does(name, ledger.Op{Want: 1}); r.Record.Firm("a") == nil || alien(r) != nil || len(r.Record.Queue) != 0 {
			t.Errorf("%s: once it is free: %+v", kind, r.Record)
		}
		a.leaves(name)
		if n := rdb.Exists(t.Context(), name).Val(); n != 0 {
			t.Errorf("%s: the lock is left", kind)
		}
	}
}

// A lock that somebody has deleted ends the hold, and one that another has taken does so
// as well.
func TestTableLockDeleted(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	a, b := openNode(t, s.URL(), "a", redis.GuardNone), openNode(t, s.URL(), "b", redis.GuardNone)
	for name, taken := range map[string]bool{"deleted": false, "taken": true} {
		h := a.takes(name)
		stale := a.look(name)
		rdb.Del(t.Context(), name)
		if taken {
			rdb.HSet(t.Context(), name, "uuid:1", 1)
		}
		if r, err := b.Swap(t.Context(), b.swapOf(name, stale, ledger.Op{Want: 1})); err != nil || r.Written {
			t.Errorf("%s: written on a lock that is not there: %+v, %v", name, r, err)
		}
		if r, err := a.Swap(t.Context(), a.swapOf(name, stale, ledger.Op{Keep: 1, Extend: true})); err != nil || r.Written || r.Record.Firm("a") != nil {
			t.Errorf("%s: extended: %+v, %v", name, r, err)
		}
		if errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: name, ID: h.ID, TTL: time.Minute}}); err != nil || !errors.Is(errs[0], backend.ErrNotHeld) {
			t.Errorf("%s: renewed: %v, %v", name, errs, err)
		}
		r := b.does(name, ledger.Op{Want: 1})
		if got := r.Record.Firm("b") != nil; got == taken || r.Record.Firm("a") != nil || (alien(r) != nil) != taken {
			t.Errorf("%s: then %+v", name, r.Record)
		}
	}
}

// Redisson's programs see who has the name, in the hash that they lock by, and hear when
// nobody has it any more.
func TestTableShowsTheLock(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	a, b := openNode(t, s.URL(), "a", redis.GuardNone), openNode(t, s.URL(), "b", redis.GuardNone)
	heard := rdb.Subscribe(t.Context(), "redisson_lock__channel:{x}")
	defer heard.Close()
	if _, err := heard.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	is := func(want map[string]string) {
		t.Helper()
		got := rdb.HGetAll(t.Context(), "x").Val()
		if len(got) != len(want) {
			t.Fatalf("the lock is %v, want %v", got, want)
		}
		for f, v := range want {
			if got[f] != v {
				t.Fatalf("the lock is %v, want %v", got, want)
			}
		}
		if left := rdb.PTTL(t.Context(), "x").Val(); len(want) > 0 && (left <= 0 || left > 30*time.Second) {
			t.Errorf("it ends in %v", left)
		}
	}
	callers := []ledger.Caller{{Owner: "uuid:1", Entries: 2}}
	a.does("x", ledger.Op{Want: 1, Callers: callers})
	is(map[string]string{"uuid:1": "2"})
	b.does("x", ledger.Op{Want: 1})
	a.leaves("x")
	is(map[string]string{"b:1": "1"})
	b.does("x", ledger.Op{Want: 1})
	is(map[string]string{"b:0": "1"})
	b.leaves("x")
	is(nil)
	if m, err := heard.ReceiveMessage(t.Context()); err != nil || m.Payload != "0" {
		t.Errorf("told %v, %v", m, err)
	}
	for _, n := range []*node{a, b} {
		n.does("x", ledger.Op{Want: 1, Mode: backend.Shared})
	}
	is(map[string]string{"mode": "lockgw -1", "a:0": "1", "b:0": "1"})
	a.leaves("x")
	is(map[string]string{"mode": "lockgw -1", "b:0": "1"})
	b.leaves("x")
	is(nil)
	a.does("x", ledger.Op{Want: 3, Mode: 5})
	is(map[string]string{"mode": "lockgw 5", "a:0": "3"})
	a.does("x", ledger.Op{Verb: ledger.Leave, Bar: 10 * time.Second})
	is(map[string]string{"lockgw:delay": "1"})
	for range 2 { // free once more; then who waits for the end of the lease is told of a nearer one
		if m, err := heard.ReceiveTimeout(t.Context(), 5*time.Second); err != nil || m.(*goredis.Message).Payload != "0" {
			t.Errorf("told %v, %v", m, err)
		}
	}
}

// Redisson's fence counter is raised where it is, and fences of lockgw are above those
// that it has given.
func TestTableFenceCounter(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb, counter := s.Client(), "redisson_lock_token:{x}"
	a := openNode(t, s.URL(), "a", redis.GuardNone)
	a.takes("x")
	if rdb.Exists(t.Context(), counter).Val() != 0 {
		t.Error("the counter was made")
	}
	a.leaves("x")
	rdb.Set(t.Context(), counter, 5, 0)
	first := a.takes("x").ID
	if got, _ := rdb.Get(t.Context(), counter).Uint64(); got < uint64(first) {
		t.Errorf("the counter is %d while fence %d is held", got, first)
	}
	a.leaves("x")
	for range 100 { // locks of Redisson
		rdb.Incr(t.Context(), counter)
	}
	given, err := rdb.Get(t.Context(), counter).Uint64()
	if err != nil || given < uint64(first)+100 {
		t.Fatalf("the counter is %d after fence %d, %v", given, first, err)
	}
	// Whoever computes with what it knew before is refused, and told.
	r, err := a.try("x", ledger.Op{Want: 1})
	if err != nil || r.Written || uint64(r.Record.Top) < given {
		t.Fatalf("after Redisson's fence %d: %+v, %v", given, r, err)
	}
	r, err = a.Swap(t.Context(), a.swapOf("x", r, ledger.Op{Want: 1}))
	if err != nil || !r.Written || uint64(r.Record.Firm("a").ID) <= given {
		t.Errorf("after Redisson's fence %d: %+v, %v", given, r, err)
	}
	if got, _ := rdb.Get(t.Context(), counter).Uint64(); got <= given {
		t.Errorf("the counter is %d, and was %d", got, given)
	}
}

// A node that waits for a holder outside lockgw makes a record without a look at the counter,
// for it is granted nothing by that. The write that grants looks at it.
func TestTableFenceCounterOfWhoJoined(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb, given := s.Client(), uint64(time.Now().Add(time.Hour).UnixMicro())
	a := openNode(t, s.URL(), "a", redis.GuardNone)
	rdb.Set(t.Context(), "redisson_lock_token:{x}", given, 0)
	rdb.Set(t.Context(), "x", "token", time.Minute)
	if r, err := a.Join(t.Context(), "x", ledger.Entry{Node: "a", Want: 1}, 0); err != nil || r.Record.Entry("a") == nil {
		t.Fatalf("the join of a name that is held outside: %+v, %v", r, err)
	}
	rdb.Del(t.Context(), "x")
	r, err := a.try("x", ledger.Op{Want: 1})
	if err == nil && !r.Written {
		r, err = a.Swap(t.Context(), a.swapOf("x", r, ledger.Op{Want: 1}))
	}
	if h := r.Record.Firm("a"); err != nil || h == nil || uint64(h.ID) <= given {
		t.Errorf("after Redisson's fence %d: %+v, %v", given, r, err)
	}
}

// A counter that no fence can be above grants nothing, and what is held can be given back.
func TestCounterThatIsNone(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a := openNode(t, s.URL(), "a", redis.GuardNone)
	a.takes("held")
	for _, spent := range []string{"9223372036854775808", "9223372036854775000", "a word"} {
		for _, name := range []string{"held", "new"} {
			s.Client().Set(t.Context(), "redisson_lock_token:{"+name+"}", spent, 0)
		}
		_, err := a.try("new", ledger.Op{Want: 1})
		if !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "redisson_lock_token:{new}") {
			t.Errorf("%s: %v", spent, err)
		}
	}
	a.leaves("held")
}

// What is under the record's key and is none is not touched.
func TestTableRefusesWhatIsNoRecord(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	a := openNode(t, s.URL(), "a", redis.GuardNone)
	rdb.Set(t.Context(), "lockgw:{text}", "hello", 0)
	rdb.RPush(t.Context(), "lockgw:{list}", "hello")
	a.takes("later")
	text := rdb.Get(t.Context(), "lockgw:{later}").Val()
	rdb.Set(t.Context(), "lockgw:{later}", strings.Replace(text, `"v":1`, `"v":9`, 1), 0)
	for _, name := range []string{"text", "list", "later"} {
		was := rdb.Dump(t.Context(), "lockgw:{"+name+"}").Val()
		_, err := a.Look(t.Context(), name)
		if !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "lockgw:{"+name+"}") {
			t.Errorf("%s: look: %v", name, err)
		}
		r, err := a.Swap(t.Context(), a.swapOf(name, ledger.Reply{}, ledger.Op{Want: 1}))
		if !errors.Is(err, backend.ErrRefused) {
			t.Errorf("%s: swap: %+v, %v", name, r, err)
		}
		if now := rdb.Dump(t.Context(), "lockgw:{"+name+"}").Val(); now != was {
			t.Errorf("%s was changed", name)
		}
	}
}

// What a program outside lockgw has is a lock that nobody shares: a semaphore conflicts with it,
// and with a read-write lock of Redisson everything does.
func TestTableForeignKinds(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	a := openNode(t, s.URL(), "a", redis.GuardNone)
	rdb.HSet(t.Context(), "hash", "uuid:1", 1)
	rdb.Set(t.Context(), "text", "owner", time.Minute)
	for i := range 4 { // readers: not every field that is looked at is the mode
		rdb.HSet(t.Context(), "readers", "mode", "read", fmt.Sprint("uuid:", i), 1)
	}
	rdb.HSet(t.Context(), "writer", "mode", "write", "uuid:1:write", 1)
	for name, want := range map[string][3]bool{ // exclusive, shared, a semaphore
		"hash": {false, false, true}, "text": {false, false, true}, "readers": {true, true, true}, "writer": {true, true, true},
	} {
		r := a.look(name).Record
		if !slices.ContainsFunc(r.Holds, func(h ledger.Hold) bool { return h.Foreign() }) {
			t.Errorf("%s: nobody has it: %+v", name, r)
		}
		for i, mode := range []backend.Mode{backend.Exclusive, backend.Shared, 2} {
			if got := r.Conflicts("a", mode); got != want[i] {
				t.Errorf("%s conflicts with %v: %v, want %v", name, mode, got, want[i])
			}
		}
		// What is written meanwhile does not say of what kind it was.
		a.does(name, ledger.Op{Want: 1, Mode: 2})
		rdb.Del(t.Context(), name)
		if r := a.look(name).Record; r.Size < 0 {
			t.Errorf("%s: %+v is left", name, r)
		}
	}
}

// What has no end, as the permits of a semaphore, is looked at again after a lease: nobody tells
// of its deletion.
func TestTableForeignWithoutEnd(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	table, err := redis.OpenTable(redis.Config{URL: s.URL(), Node: backend.Node{ID: "a"}, Lease: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	table.Listen(func(ledger.Addressed) {})
	s.Client().Set(t.Context(), "x", "2", 0)
	r, err := table.Look(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if h := alien(r); h == nil || h.End != 3*time.Second {
		t.Errorf("told %+v, want to look again after a lease of 3 s", h)
	}
}
