package examine

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/tabletest"
)

// listening is a Table whose Listen returns once messages arrive.
type listening struct{ *redis.Table }

func (l listening) Listen(f func(ledger.Addressed)) {
	listens := make(chan struct{}, 1000)
	l.Table.Listen(func(m ledger.Addressed) {
		if m.Kind == ledger.Resync {
			listens <- struct{}{}
		}
		f(m)
	})
	<-listens
}

// A user with the rights that are documented can do all that a Table does.
func TestRightsOfTable(t *testing.T) {
	rights := strings.ReplaceAll(NeededRights, "%[1]s", "app:")
	s := redistest.Start(t, user("gateway", rights)...)
	open := func(t *testing.T, node string) *redis.Table {
		table, err := redis.OpenTable(redis.Config{
			URL: "redis://gateway:p@" + s.Addr, KeyPrefix: "app:", Node: backend.Node{ID: node},
			Guard: redis.GuardQuarantine, Lease: time.Second, FenceTTL: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = table.Close() })
		return table
	}
	t.Run("suite", func(t *testing.T) {
		tabletest.Run(t, func(t *testing.T, node string) ledger.Table { return listening{open(t, node)} })
	})

	// What the suite does not ask for: a program that locks by itself, and its release.
	table := open(t, "n")
	heard := make(chan ledger.Addressed, 100)
	listening{table}.Listen(func(m ledger.Addressed) { heard <- m })
	rdb := s.Client()
	for name, lock := range map[string]func(){
		"hash": func() {
			rdb.HSet(t.Context(), "app:hash", "7c8a1f3e-1111-4222-8333-444455556666:1", 1)
			rdb.PExpire(t.Context(), "app:hash", time.Minute)
		},
		"string": func() { rdb.Set(t.Context(), "app:string", "x", time.Minute) },
	} {
		lock()
		if r, err := table.Join(t.Context(), name, ledger.Entry{Node: "n", Want: 1}, 0); err != nil || len(r.Record.Holds) != 1 || r.Record.Holds[0].ID != 0 {
			t.Errorf("join behind a %s: %+v, %v, want its holder", name, r, err)
		}
	}
	redistest.Await(t, "the release of the hash is heard", func() bool {
		rdb.Publish(t.Context(), "redisson_lock__channel:{app:hash}", "0")
		return slices.ContainsFunc(drained(heard), func(m ledger.Addressed) bool { return m.Name == "hash" && m.Kind == ledger.Look })
	})
	for what, ask := range map[string]func(context.Context) error{
		"ping":     table.Ping,
		"eviction": func(ctx context.Context) error { _, err := table.Eviction(ctx); return err },
	} {
		if err := ask(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if log := rdb.Do(t.Context(), "acl", "log").Val(); len(log.([]any)) > 0 {
		t.Errorf("refused: %v, want nothing", log)
	}
}

func drained(c chan ledger.Addressed) (all []ledger.Addressed) {
	for len(c) > 0 {
		all = append(all, <-c)
	}
	return all
}
