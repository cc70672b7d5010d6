package history_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// store is the server behind the proxies.
type store interface {
	// server is its host:port, or those of all of its servers, with commas between.
	server() string
	// config is the line backend of a gateway in a scenario that comes by proxies at addr,
	// which is written as server is. scenario.guarded: it grants nothing new where the store
	// may have forgotten.
	config(addr string, in scenario) string
	// listens: with this chunk a connection becomes one for messages alone.
	listens(chunk []byte) bool
	// scripts that have run in it; 0: it has none.
	scripts(t testing.TB) int64
	// left is what should not be there when nobody holds or waits.
	left(ctx context.Context) []string

	Pause()
	Resume()
	// slow has it serve nobody for so long, without a stop of its process.
	slow(d time.Duration)
	// upset has it drop what its clients may believe that it keeps for them, but no lock.
	upset()
	// cut ends the connections for messages, or what makes them such.
	cut()
	// restart is kill -9 and a start with what it had; false: it would forget, and goes on.
	restart() bool
	// forget is a restart without what was granted.
	forget()
}

// stores are those that histories are made of.
var stores = map[string]func(t testing.TB) store{
	"redis":     startRedis,
	"postgres":  startPostgres,
	"mysql":     startMySQL,
	"etcd":      startEtcd,
	"zookeeper": startZooKeeper,
	"redlock":   func(t testing.TB) store { return startRedlock(t, 3) },
	"redlock-5": func(t testing.TB) store { return startRedlock(t, 5) },
}

// voting is whether a store has several servers of which a majority decides.
func voting(scheme string) bool { return strings.HasPrefix(scheme, "redlock") }

// together are the stores in which messages come by the connection of all requests.
var together = []string{"etcd", "zookeeper"}

// on is s over another store than Redis.
func on(scheme string, s scenario) scenario {
	s.scheme, s.name, s.scripts = scheme, scheme+"-"+s.name, 0
	// Requests and messages share one connection, which a gateway gives up when its pings
	// have had no answer for 7 s; etcd takes none more often. Over ZooKeeper it notices sooner,
	// and what a gateway held that has died is free when its session of 4 s is over.
	switch scheme {
	case "etcd":
		s.stall += 7 * time.Second
	case "zookeeper":
		s.stall += 9 * time.Second
	case "redlock", "redlock-5": // one server is no reason for anybody to wait
		s.faults = append(oneOfServers(s.faults), fault{"server away", serverAway})
		return s
	default:
		return s
	}
	without := []string{"mute messages", "freeze messages", "delay messages"}
	if s.guarded { // who is started when the store was restored knows of no later state
		without = append(without, "kill gateway")
	}
	s.faults = slices.DeleteFunc(slices.Clone(s.faults), func(f fault) bool { return slices.Contains(without, f.kind) })
	return s
}

// nobody holds the name of which this is the record, or waits for it.
func nobody(record string) bool {
	r, err := ledger.Decode([]byte(record))
	return err == nil && len(r.Holds) == 0 && len(r.Queue) == 0
}

// A store that forgets where it should not, or does not where it should, would have the
// histories say nothing.
func TestStoresForget(t *testing.T) {
	program, err := e2e.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for scheme := range stores {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, scenario{scheme: scheme, ttl: [2]time.Duration{time.Minute, time.Minute}}, 1, program)
			d, err := openSocket(t.Context(), r.gateways[0])
			if err != nil {
				t.Fatal(err)
			}
			defer d.close()
			if _, err := d.acquire(t.Context(), claim{name: "kept", ttl: time.Minute}); err != nil {
				t.Fatal(err)
			}
			has := func() bool { return strings.Contains(strings.Join(r.store.left(t.Context()), "\n"), "kept") }
			if !has() {
				t.Fatalf("the store has %q, and not what is held", r.store.left(t.Context()))
			}
			for _, g := range r.gateways {
				g.Kill() // lest one has it written down again, or gives it back: a session of ZooKeeper may not outlive a slow restart
			}
			if r.store.restart() {
				for end := time.Now().Add(patience); !has() && time.Now().Before(end); { // what it has is not to be read at once
					time.Sleep(100 * time.Millisecond)
				}
				if !has() {
					t.Errorf("what is held is gone after a restart: there is %q", r.store.left(t.Context()))
				}
			}
			if r.store.forget(); has() {
				t.Error("the store has not forgotten what is held")
			}
		})
	}
}
