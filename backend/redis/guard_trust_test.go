package redis

import (
	"log/slog"
	"net"
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
	if !g.wasLeft(first, first) || g.wasLeft(other, other) || g.ids() != other {
		t.Errorf("the first one was left: %v, the other: %v; trusted are %q", g.wasLeft(first, first), g.wasLeft(other, other), g.ids())
	}
	again := first[:runLength] + strings.Repeat("c", 40) // it has led again, for which another gateway has waited
	if !g.wasLeft(again, first) || g.wasLeft(again, again) {
		t.Error("it is not the mark of another gateway that counts once it leads again")
	}
}

// A server that was emptied is not trusted because it was so before: by a gateway that was away
// meanwhile, by one whose connection broke just then, nor where another one has put its doubts.
func TestEmptiedUnseen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ restarted, told, followed bool }{
		{}, {told: true}, {restarted: true}, {restarted: true, told: true}, {restarted: true, followed: true}, {told: true, followed: true},
	} {
		s := redistest.Start(t)
		file := filepath.Join(t.TempDir(), "guard")
		open := func() (*Table, *goredis.Client) {
			table, err := OpenTable(Config{URL: redistest.Patient(s.URL()), Node: backend.Node{ID: "a"}, Guard: GuardQuarantine, GuardFile: file, Lease: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = table.Close() })
			c, err := table.servers.Of(t.Context(), "x")
			if err != nil {
				t.Fatal(err)
			}
			return table, c
		}
		trusts := func(table *Table, c *goredis.Client) bool {
			v, err := table.verdict(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			return v.script != nil
		}
		table, c := open()
		if !trusts(table, c) {
			t.Fatal("a new server is not trusted")
		}
		if tt.restarted {
			_ = table.Close()
			if table, c = open(); !trusts(table, c) {
				t.Error("a server is not trusted after a restart of the gateway")
			}
			_ = table.Close()
		} else {
			table.trust.stop() // it has not looked yet
		}
		s.Client().FlushAll(t.Context())
		if tt.told {
			s.Client().Set(t.Context(), "lockgw:guard:{0}", doubted, 0)
		}
		if tt.followed { // by its first replica, for which it begins a new replication
			host, port, _ := net.SplitHostPort(s.Addr)
			redistest.Start(t).Client().Do(t.Context(), "REPLICAOF", host, port)
			redistest.Await(t, "it has another id", func() bool {
				id, err := idOf(t.Context(), s.Client())
				return err == nil && id != table.guard.ids()
			})
		}
		if tt.restarted {
			table, c = open()
		}
		table.trust.forgetAll()
		if trusts(table, c) {
			t.Errorf("%+v: a server that was emptied is trusted", tt)
		}
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
	mark := table.guard.lastOf(c).mark
	if err != nil || mark == "" {
		t.Fatalf("%+v, %v, want the mark of the gateways", v, err)
	}
	from, to := cluster.Owner(mark), cluster.Masters[0]
	if from == to {
		to = cluster.Masters[1]
	}
	cluster.OpenMove(mark, from, to)
	cluster.MoveKeys(from, to, mark)
	if table.guard.emptied(t.Context(), c, v.id) {
		t.Error("the server counts as emptied while the slot moves")
	}
	cluster.Move(mark, from, to)
	if table.guard.emptied(t.Context(), c, v.id) || table.guard.suspects() {
		t.Error("the server counts as emptied once the slot has moved")
	}
	if _, trusted := table.guard.known(v.id); !trusted {
		t.Error("the server is not trusted any more")
	}
}
