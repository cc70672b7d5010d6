package redis_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// commands is how many commands, those within scripts too, the server runs for f.
func commands(t *testing.T, s *redistest.Server, f func()) int64 {
	t.Helper()
	before := s.CommandStats(t)
	f()
	after := s.CommandStats(t)
	var n int64
	for _, one := range []string{"ping", "info", "client|setname", "hello", "publish|probe"} {
		delete(after, one)
	}
	for name, calls := range after {
		n += calls - before[name]
	}
	if testing.Verbose() {
		maps.DeleteFunc(after, func(name string, calls int64) bool { return calls == before[name] })
		for name := range after {
			after[name] -= before[name]
		}
		t.Log(after)
	}
	return n
}

// A pair of lock and unlock, of a gateway that knows what it wrote last.
func TestTableCommandsOfPair(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a := &node{Table: openTable(t, s.URL(), "a", redis.GuardQuarantine), t: t, id: "a"} // without probes
	a.takes("x")
	seen := a.leaves("x")
	const pairs = 50
	n := commands(t, s, func() {
		for range pairs {
			for _, op := range []ledger.Op{{Want: 1}, {Verb: ledger.Leave}} {
				op.Floor = backend.Fence(seen.Clock)
				r, err := a.Swap(t.Context(), a.swapOf("x", seen, op))
				if err != nil || !r.Written {
					t.Fatal(r, err)
				}
				seen = r
			}
		}
	})
	if n/pairs > 12 { // the mark is looked at now and then, as time passes
		t.Errorf("%d commands for %d pairs, want at most 12 each", n, pairs)
	}
}

// A hand-over: release, take what was offered, and join the queue again.
func TestTableCommandsOfHandover(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a := &node{Table: openTable(t, s.URL(), "a", redis.GuardQuarantine), t: t, id: "a"}
	b := &node{Table: openTable(t, s.URL(), "b", redis.GuardQuarantine), t: t, id: "b"}
	a.takes("x")
	b.does("x", ledger.Op{Want: 1})
	seen := b.look("x")
	const rounds = 50
	write := func(n *node, op ledger.Op) {
		op.Floor = backend.Fence(seen.Clock)
		r, err := n.Swap(t.Context(), n.swapOf("x", seen, op))
		if err != nil || !r.Written {
			t.Fatal(r, err)
		}
		seen = r
	}
	b.takes("warm") // so that b is asked nothing within the count
	n := commands(t, s, func() {
		for i := range rounds {
			from, to := a, b
			if i%2 == 1 {
				from, to = b, a
			}
			write(from, ledger.Op{Verb: ledger.Leave})
			write(to, ledger.Op{Want: 1})
			r, err := from.Join(t.Context(), "x", ledger.Entry{Node: from.id, Want: 1}, 0)
			if err != nil {
				t.Fatal(err)
			}
			seen = r
		}
	})
	if n/rounds > 26 {
		t.Errorf("%d commands for %d hand-overs, want at most 26 each", n, rounds)
	}
}

// Nothing is left of a name two minutes after it was used, but the mark and the key of the
// guard, which servers have and names have not, as the record by which the server was tried.
func TestTableLeavesNothing(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a := openNode(t, s.URL(), "a", redis.GuardQuarantine)
	const names = 5000
	if err := backend.Each(names, func(i int) error {
		name := fmt.Sprint("n", i)
		for _, op := range []ledger.Op{{Want: 1}, {Verb: ledger.Leave}} {
			if r, err := a.try(name, op); err != nil || !r.Written {
				return fmt.Errorf("%s: %+v, %w", name, r, err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	rdb := s.Client()
	keys, err := rdb.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	records := 0
	for _, k := range keys {
		switch left := rdb.PTTL(t.Context(), k).Val(); {
		case k == "lockgw:guard:{0}":
		case k == "lockgw:{lockgw:selftest:a}" && left > 0 && left <= time.Minute:
		case k == "lockgw:mark:{0}" && left > 0:
		case left <= 0 || left > 2*time.Minute:
			t.Errorf("%s stays for %v", k, left)
		default:
			records++
		}
	}
	if records > names {
		t.Errorf("%d keys are left for %d names: %q", records, names, keys[:10])
	}
}

// A record lasts as long as its longest lease and a minute, however that came about.
func TestTableRecordOutlivesLeases(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	a := openNode(t, s.URL(), "a", redis.GuardNone)
	lasts := func(want time.Duration) {
		t.Helper()
		left := rdb.PTTL(t.Context(), "lockgw:{x}").Val()
		if left < want || left > want+time.Minute+time.Second {
			t.Errorf("the record stays for %v, want %v and up to a minute more", left, want)
		}
	}
	h := a.takes("x")
	lasts(80 * time.Second)
	for _, ttl := range []time.Duration{40 * time.Second, 10 * time.Second, 5 * time.Minute} {
		if errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: "x", ID: h.ID, TTL: ttl}}); err != nil || errs[0] != nil {
			t.Fatal(errs, err)
		}
		lasts(max(ttl, 40*time.Second) + 25*time.Second)
		if left := rdb.PTTL(t.Context(), "x").Val(); left < max(ttl, 40*time.Second)-5*time.Second {
			t.Errorf("the lock stays for %v after a renewal by %v", left, ttl)
		}
	}
	// Who waits for a lock of another program has its place kept as long as that lasts.
	rdb.Set(t.Context(), "f", "token", time.Hour)
	a.does("f", ledger.Op{Want: 1})
	if left := rdb.PTTL(t.Context(), "lockgw:{f}").Val(); left < time.Hour {
		t.Errorf("a place in the queue is kept for %v", left)
	}
	rdb.PExpire(t.Context(), "f", 2*time.Hour)
	a.look("f")
	if left := rdb.PTTL(t.Context(), "lockgw:{f}").Val(); left < 2*time.Hour {
		t.Errorf("then it is kept for %v", left)
	}
}

// A script takes no longer for the nodes that wait than a record of that size is long;
// callers are no part of it.
func TestTableManyNodesWait(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a := openNode(t, s.URL(), "a", redis.GuardNone)
	a.takes("x")
	const nodes = 300
	before := processorTime(t, s)
	if err := backend.Each(nodes, func(i int) error {
		_, err := a.Join(t.Context(), "x", ledger.Entry{Node: fmt.Sprint("node-", i), Want: 1}, 0)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if r := a.look("x"); len(r.Record.Queue) != nodes {
		t.Errorf("%d of %d nodes wait", len(r.Record.Queue), nodes)
	}
	if r := a.leaves("x"); len(r.Unheard) == 0 || len(r.Record.Queue) != nodes {
		t.Errorf("then %d wait, unheard %q", len(r.Record.Queue), r.Unheard)
	}
	// What others do meanwhile does not count, as it would in the time that a script took.
	calls, _ := scriptTime(t, s)
	if us := processorTime(t, s) - before; us > 1000*float64(calls) {
		t.Errorf("%d scripts took %.0f us of the server's processor time", calls, us)
	}
}

// scriptTime is how many scripts the server has run, and how long that took.
func scriptTime(t testing.TB, s *redistest.Server) (calls, us int64) {
	t.Helper()
	info, err := s.Client().Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(info) {
		var n, u int64
		if _, values, ok := strings.Cut(line, "cmdstat_eval"); ok {
			_, values, _ = strings.Cut(values, ":")
			if _, err := fmt.Sscanf(values, "calls=%d,usec=%d", &n, &u); err != nil {
				t.Fatal(err)
			}
			calls, us = calls+n, us+u
		}
	}
	return calls, us
}
