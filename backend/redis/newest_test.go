package redis_test

import (
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
