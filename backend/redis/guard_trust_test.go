package redis

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// Requests that meet a new server at the same time trust it one after the other. Each
// is among those that are trusted once.
func TestGuardTrustsOnce(t *testing.T) {
	g := newGuard(GuardQuarantine, time.Second, "", slog.New(slog.DiscardHandler))
	for range 2 * rememberServers {
		g.trust("b")
	}
	g.trust("a")
	if got := g.ids(); got != "b a" {
		t.Errorf("trusted are %q, want each server once", got)
	}
}

// The next process of a gateway does not trust the server that the one before had left for another.
func TestGuardRemembersWhomItLeft(t *testing.T) {
	file, log := filepath.Join(t.TempDir(), "guard"), slog.New(slog.DiscardHandler)
	first, other := strings.Repeat("a", 80), strings.Repeat("b", 80)
	g, c := newGuard(GuardQuarantine, time.Second, file, log), &goredis.Client{}
	for _, id := range []string{first, other} {
		g.trust(id)
		g.follows(c, id)
	}
	g.save()
	g = newGuard(GuardQuarantine, time.Second, file, log)
	if !g.wasLeft(first) || g.wasLeft(other) || g.ids() != other {
		t.Errorf("the first one was left: %v, the other: %v; trusted are %q", g.wasLeft(first), g.wasLeft(other), g.ids())
	}
}

// What puts a server in doubt while it is being asked who it is counts as well: the answer
// may be from before.
func TestDoubtWhileAsked(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	link := redistest.Proxy(t, s.Addr)
	table, err := OpenTable(Config{URL: redistest.Patient("redis://" + link.Addr), Node: backend.Node{ID: "a"}, Guard: GuardQuarantine, Lease: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	c, err := table.servers.Of(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := table.verdict(t.Context(), c); err != nil || len(table.trust.all()) != 1 {
		t.Fatalf("%d servers are trusted, %v", len(table.trust.all()), err)
	}
	table.trust.forgetAll()
	before := s.CommandStats(t)["eval"]
	link.Delay(time.Second)
	asked := make(chan error)
	go func() {
		_, err := table.verdict(t.Context(), c)
		asked <- err
	}()
	redistest.Await(t, "the server has said who it is", func() bool { return s.CommandStats(t)["eval"] > before })
	table.trust.forgetAll()
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	if len(table.trust.all()) != 0 {
		t.Error("the answer counts for later grants")
	}
}

// What somebody else has put in the place of the guard's key tells nothing of a server, whatever
// its type: it is trusted once the quarantine is over.
func TestGuardKeyOfSomebodyElse(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"string", "list"} {
		s := redistest.Start(t)
		rdb := s.Client()
		if kind == "string" {
			rdb.Set(t.Context(), "lockgw:guard:{0}", "hello", 0)
		} else {
			rdb.RPush(t.Context(), "lockgw:guard:{0}", "hello")
		}
		table, err := OpenTable(Config{URL: redistest.Patient(s.URL()), Node: backend.Node{ID: "a"}, Guard: GuardQuarantine, Lease: 300 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer table.Close()
		c, err := table.servers.Of(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		if v, err := table.verdict(t.Context(), c); err != nil || v.script != nil || v.later == nil {
			t.Errorf("beside a %s: %+v, %v, want a quarantine", kind, v, err)
		}
		redistest.Await(t, "it is trusted beside a "+kind, func() bool {
			v, err := table.verdict(t.Context(), c)
			return err == nil && v.script != nil
		})
	}
}

// A cluster moves the slot of the key by which gateways trust a server, and the key with it: that
// server has forgotten nothing.
func TestMovedMarkIsNoLoss(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 3, 0)
	table, err := OpenTable(Config{URL: redistest.Patient(cluster.URL()), Node: backend.Node{ID: "a"}, Guard: GuardQuarantine, Lease: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	c, err := table.servers.Of(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	v, err := table.verdict(t.Context(), c)
	if err != nil || v.mark == "" {
		t.Fatalf("%+v, %v, want the mark of the gateways", v, err)
	}
	from, to := cluster.Owner(v.mark), cluster.Masters[0]
	if from == to {
		to = cluster.Masters[1]
	}
	cluster.OpenMove(v.mark, from, to)
	cluster.MoveKeys(from, to, v.mark)
	if table.guard.emptied(t.Context(), c, v.id, v.mark) {
		t.Error("the server counts as emptied while the slot moves")
	}
	cluster.Move(v.mark, from, to)
	if table.guard.emptied(t.Context(), c, v.id, v.mark) || table.guard.suspects() {
		t.Error("the server counts as emptied once the slot has moved")
	}
	if _, trusted := table.guard.known(v.id); !trusted {
		t.Error("the server is not trusted any more")
	}
}
