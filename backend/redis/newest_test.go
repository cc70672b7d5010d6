package redis_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/floor"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// What is told for a move to another store is above fences that were ahead of the clock, also
// when their names are forgotten.
func TestNewest(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) (url string, forget func(key string)){
		"one server": func(t *testing.T) (string, func(string)) {
			s := redistest.Start(t)
			return s.URL(), func(key string) { s.Client().Del(t.Context(), key) }
		},
		"cluster": func(t *testing.T) (string, func(string)) {
			c := redistest.StartCluster(t, 3, 0)
			return c.URL(), func(key string) { c.Owner("x").Client().Del(t.Context(), key) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, forget := start(t)
			a := openNode(t, url, "a", redis.GuardNone)
			if newest, err := a.Newest(t.Context()); err != nil || newest > backend.Fence(time.Now().Add(time.Hour).UnixMicro()) {
				t.Errorf("of a new store %d, %v", newest, err)
			}
			s := a.swapOf("x", ledger.Reply{}, ledger.Op{Want: 1, Turns: 64})
			s.Floor = backend.Fence(time.Now().Add(48 * time.Hour).UnixMicro())
			r, err := a.Swap(t.Context(), s)
			if err != nil || !r.Written {
				t.Fatalf("%+v, %v", r, err)
			}
			a.leaves("x")
			forget("lockgw:{x}") // as after a minute
			if least, err := floor.Of(t.Context(), a.Table, time.Now()); err != nil || least <= r.Record.Top {
				t.Errorf("the floor is %d after %d, %v", least, r.Record.Top, err)
			}
		})
	}
}

// Who asks for a name where the key of the mark has something else is told which key that is.
func TestMarkThatIsNone(t *testing.T) {
	t.Parallel()
	const key = "lockgw:mark:{0}"
	s := redistest.Start(t)
	rdb := s.Client()
	a := openNode(t, s.URL(), "a", redis.GuardNone)
	a.takes("held")
	a.does("held", ledger.Op{Want: 1, Mode: backend.Exclusive, Callers: []ledger.Caller{{Owner: "uuid:1", Entries: 1}}})
	ahead := backend.Fence(time.Now().Add(time.Hour).UnixMicro()) // the mark has to be looked at
	for what, leave := range map[string]func(){
		"a word": func() { rdb.Set(t.Context(), key, "hello", 0) },
		"a list": func() { rdb.RPush(t.Context(), key, "hello") },
	} {
		rdb.Del(t.Context(), key)
		leave()
		was := rdb.Dump(t.Context(), key).Val()
		r, err := a.try("new", ledger.Op{Want: 1})
		if r.Written || !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), key) {
			t.Errorf("grant beside %s: %+v, %v", what, r, err)
		}
		r, err = a.try("held", ledger.Op{Want: 1, Extend: true, Floor: ahead, Callers: []ledger.Caller{{Owner: "uuid:2", Entries: 1}}})
		if r.Written || !errors.Is(err, backend.ErrRefused) || rdb.HGet(t.Context(), "held", "uuid:1").Val() != "1" {
			t.Errorf("next block of fences beside %s: %+v, %v", what, r, err)
		}
		if _, err := a.Newest(t.Context()); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), key) {
			t.Errorf("newest beside %s: %v", what, err)
		}
		if rdb.Dump(t.Context(), key).Val() != was {
			t.Errorf("%s was changed", what)
		}
	}
	rdb.Del(t.Context(), key)
	a.does("held", ledger.Op{Want: 1, Extend: true, Floor: ahead, Callers: []ledger.Caller{{Owner: "uuid:2", Entries: 1}}})
	if held := rdb.HGetAll(t.Context(), "held").Val(); len(held) != 1 || held["uuid:2"] != "1" {
		t.Errorf("then the lock is %v", held)
	}
	a.leaves("held")
	a.takes("new")
}
