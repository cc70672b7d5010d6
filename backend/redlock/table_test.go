package redlock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/floor"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/redlock"
	"github.com/lockgw/lockgw/backend/tabletest"
)

func servers(t *testing.T, n int) (all []*redistest.Server, url string) {
	t.Helper()
	var addrs []string
	for range n {
		s := redistest.Start(t)
		all, addrs = append(all, s), append(addrs, s.Addr)
	}
	return all, "redlock://" + strings.Join(addrs, ",")
}

// trusted has all servers count, as they do where none of them was ever used.
func trusted(t *testing.T, all []*redistest.Server, url string) {
	t.Helper()
	first := openTable(t, url, "first")
	if _, err := first.Swap(t.Context(), ledger.Swap{Name: "new", Record: ledger.Record{Top: 1, Holds: []ledger.Hold{{Node: "first", Count: 1, ID: 1}}}}); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		redistest.Await(t, "all servers count", func() bool { return s.Client().Exists(t.Context(), "lockgw:guard:{0}").Val() == 1 })
	}
}

// gatewayTable is a Table whose Listen returns once it hears all servers: who listens in
// earnest looks again when a Resync comes, and a test does not.
type gatewayTable struct {
	*redlock.Table
	servers int
}

func (g gatewayTable) Listen(f func(ledger.Addressed)) {
	listens := make(chan struct{}, 1000)
	g.Table.Listen(func(m ledger.Addressed) {
		if m.Kind == ledger.Resync {
			listens <- struct{}{}
		}
		f(m)
	})
	for range g.servers {
		<-listens
	}
}

func openTable(t *testing.T, url, node string) *redlock.Table {
	t.Helper()
	table, err := redlock.OpenTable(redlock.Config{URL: url, Node: backend.Node{ID: node}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	return table
}

func TestTable(t *testing.T) {
	t.Parallel()
	_, url := servers(t, 3)
	tabletest.Run(t, func(t *testing.T, node string) ledger.Table {
		table, err := redlock.OpenTable(redlock.Config{URL: url, Node: backend.Node{ID: node}})
		if err != nil {
			t.Fatal(err)
		}
		return gatewayTable{table, 3}
	})
}

// do writes op on what is there.
func do(t *testing.T, table *redlock.Table, op ledger.Op) (ledger.Reply, error) {
	t.Helper()
	seen, err := table.Look(t.Context(), "x")
	if err != nil {
		return seen, err
	}
	op.Node, op.Turns, op.TTL, op.OfferTTL, op.Lapse = table.Node(), 1, 30*time.Second, time.Second, true
	if h := seen.Record.Firm(op.Node); h != nil {
		op.Hold = h.ID
	}
	next, effects := ledger.Step(seen.Record, op, 0)
	return table.Swap(t.Context(), ledger.Swap{Name: "x", Base: seen.Version, Record: next, Effects: effects})
}

// holds: node holds x, and others see it.
func holds(t *testing.T, r ledger.Reply, err error, node string) {
	t.Helper()
	if err != nil || r.Record.Firm(node) == nil {
		t.Fatalf("%s does not hold x: %+v, %v", node, r, err)
	}
}

// A server that was restarted has forgotten, and takes no part; with one more gone, nothing
// is written any more, and who holds keeps what it has.
func TestTableRestarts(t *testing.T) {
	t.Parallel()
	all, url := servers(t, 3)
	a, b := openTable(t, url, "a"), openTable(t, url, "b")
	r, err := do(t, a, ledger.Op{Want: 1})
	holds(t, r, err, "a")
	all[0].RestartEmpty()
	for range 3 { // one of them is not there, the others go on
		r, err = do(t, b, ledger.Op{Want: 1})
		if err == nil {
			break
		}
	}
	if err != nil || r.Record.Firm("b") != nil || r.Record.Entry("b") == nil {
		t.Fatalf("b is to wait: %+v, %v", r, err)
	}
	errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: "x", ID: r.Record.Firm("a").ID, TTL: 40 * time.Second}})
	if err != nil || errs[0] != nil {
		t.Fatalf("a cannot renew: %v, %v", errs, err)
	}
	all[1].Kill()
	if r, err := do(t, b, ledger.Op{Want: 1}); err == nil {
		t.Errorf("one server and a forgetful one have decided: %+v", r)
	}
}

// A server that carries out what it has to refuse counts as one that is down: the others go
// on, and two of them are a majority that does not grant.
func TestSelfTest(t *testing.T) {
	t.Parallel()
	all, _ := servers(t, 3)
	heedless := func(i int) string { return redistest.Heedless(t, all[i].Addr, redistest.Versions) }
	first := "redlock://" + strings.Join([]string{heedless(0), all[1].Addr, all[2].Addr}, ",")
	a := openTable(t, first, "a")
	r, err := do(t, a, ledger.Op{Want: 1})
	holds(t, r, err, "a")
	records := func(i int) int64 { return all[i].Client().Exists(t.Context(), "lockgw:{x}").Val() }
	redistest.Await(t, "the two others have the record", func() bool { return records(1) == 1 && records(2) == 1 })
	if records(0) != 0 {
		t.Error("the server that compares nothing takes part")
	}
	all[1].Kill()
	says := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "server 1: ") || !strings.Contains(err.Error(), "compare-and-set does not work") {
			t.Errorf("%s with one sound server of three: %v", what, err)
		}
	}
	b := openTable(t, first, "b")
	r, err = b.Swap(t.Context(), ledger.Swap{Name: "new", Record: ledger.Record{Top: 1, Holds: []ledger.Hold{{Node: "b", Count: 1, ID: 1}}}, Effects: ledger.Effects{Grants: true}})
	if r.Written {
		t.Errorf("granted: %+v", r)
	}
	says("a grant", err)
}

// The same is told by who is asked whether it is ready, if too few are left.
func TestSelfTestIsTold(t *testing.T) {
	t.Parallel()
	all, _ := servers(t, 3)
	for unsound := 1; unsound <= 2; unsound++ {
		var addrs []string
		for i, s := range all {
			if i < unsound {
				addrs = append(addrs, redistest.Heedless(t, s.Addr, redistest.Leases))
			} else {
				addrs = append(addrs, s.Addr)
			}
		}
		table := gatewayTable{openTable(t, "redlock://"+strings.Join(addrs, ","), "a"), 3}
		table.Listen(func(ledger.Addressed) {})
		err := table.Ping(t.Context())
		if unsound == 1 && err != nil {
			t.Errorf("ping with two of three: %v", err)
		}
		if unsound == 2 && (err == nil || !strings.Contains(err.Error(), "1 of 3 servers are ready") || !strings.Contains(err.Error(), "compare-and-set does not work")) {
			t.Errorf("ping with one of three: %v", err)
		}
	}
}

// While a majority may have forgotten, who asks whether the store is ready is told until when.
func TestQuarantineIsTold(t *testing.T) {
	t.Parallel()
	all, url := servers(t, 3)
	trusted(t, all, url)
	table := gatewayTable{openTable(t, url, "a"), 3}
	table.Listen(func(ledger.Addressed) {})
	all[0].RestartEmpty()
	redistest.Await(t, "two of three are ready", func() bool { return table.Ping(t.Context()) == nil })
	all[1].RestartEmpty()
	var later *backend.Later
	redistest.Await(t, "the end of the quarantine is told", func() bool {
		err := table.Ping(t.Context())
		if err == nil {
			t.Fatal("one server of three is ready, and that is enough")
		}
		return errors.As(err, &later)
	})
	if later.After <= time.Minute || later.After > 70*time.Second {
		t.Errorf("ready in %v, want max_ttl and ten seconds", later.After)
	}
}

// While the servers are full, nobody is granted anything or queues, and nobody is kept from
// giving back, also not by a gateway that has just been refused, or has just been started.
func TestTableFull(t *testing.T) {
	t.Parallel()
	all, url := servers(t, 3)
	a, b, c := openTable(t, url, "a"), openTable(t, url, "b"), openTable(t, url, "c")
	r, err := do(t, a, ledger.Op{Want: 1})
	holds(t, r, err, "a")
	if r, err = do(t, c, ledger.Op{Want: 1}); err != nil || r.Record.Entry("c") == nil {
		t.Fatalf("c does not wait: %+v, %v", r, err)
	}
	full := func(maxmemory string) {
		for _, s := range all {
			if err := s.Client().ConfigSet(t.Context(), "maxmemory", maxmemory).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	full("1")
	refused := func(what string, r ledger.Reply, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "out of memory") {
			t.Errorf("%s by full servers: %+v, %v", what, r, err)
		}
	}
	for range 3 {
		r, err = do(t, b, ledger.Op{Want: 1})
		refused("a place in the queue", r, err)
		r, err = b.Swap(t.Context(), ledger.Swap{Name: "new", Record: ledger.Record{Top: 1, Holds: []ledger.Hold{{Node: "b", Count: 1, ID: 1}}}, Effects: ledger.Effects{Grants: true}})
		refused("a grant", r, err)
	}
	seen, err := a.Look(t.Context(), "x")
	if err != nil || seen.Record.Firm("a") == nil {
		t.Fatalf("a look at full servers: %+v, %v", seen, err)
	}
	if errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: "x", ID: seen.Record.Firm("a").ID, TTL: time.Minute}}); err != nil || errs[0] != nil {
		t.Errorf("a renewal by full servers: %v, %v", errs, err)
	}
	again := openTable(t, url, "c") // the next process of the node that waits
	if r, err = do(t, again, ledger.Op{Verb: ledger.Leave}); err != nil || !r.Written || r.Record.Has("c") {
		t.Errorf("c cannot leave the queue: %+v, %v", r, err)
	}
	if r, err = do(t, a, ledger.Op{Verb: ledger.Leave}); err != nil || !r.Written || r.Record.Has("a") {
		t.Errorf("a cannot give back: %+v, %v", r, err)
	}
	full("0")
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if r, err = do(t, b, ledger.Op{Want: 1}); err == nil || time.Now().After(end) {
			break
		}
	}
	holds(t, r, err, "b")
}

// A program outside lockgw on one server only has that server refuse; on two it has the name.
func TestTableOutside(t *testing.T) {
	t.Parallel()
	all, url := servers(t, 3)
	a := openTable(t, url, "a")
	lock := func(i int) {
		c := all[i].Client()
		if err := c.HSet(t.Context(), "x", "7c8a1f3e-1111-4222-8333-444455556666:52", 1).Err(); err != nil {
			t.Fatal(err)
		}
		if err := c.PExpire(t.Context(), "x", time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
	}
	lock(0)
	r, err := do(t, a, ledger.Op{Want: 1})
	holds(t, r, err, "a")
	if n, err := all[0].Client().HLen(t.Context(), "x").Result(); err != nil || n != 1 {
		t.Errorf("the lock of somebody else has %d fields, %v", n, err)
	}
	if r, err = do(t, a, ledger.Op{Verb: ledger.Leave}); err != nil || !r.Written || len(r.Record.Holds) != 0 {
		t.Fatalf("a cannot leave: %+v, %v", r, err)
	}
	lock(1)
	r, err = do(t, a, ledger.Op{Want: 1})
	if err != nil || !r.Written || r.Record.Firm("a") != nil || r.Record.Entry("a") == nil || len(r.Record.Holds) != 1 || r.Record.Holds[0].ID != 0 {
		t.Fatalf("a is to wait for a program outside lockgw: %+v, %v", r, err)
	}
	var seen ledger.Reply
	redistest.Await(t, "it is told by what to break it", func() bool { // unless one of the two is late
		seen, err = a.Look(t.Context(), "x")
		return err == nil && seen.Seen != ""
	})
	next := seen.Record.Clone()
	next.Holds = nil
	r, err = a.Swap(t.Context(), ledger.Swap{Name: "x", Base: seen.Version, Record: next, Effects: ledger.Effects{Evicts: true}, Seen: seen.Seen})
	if err != nil || !r.Written || len(r.Record.Holds) != 0 {
		t.Fatalf("it is not evicted: %+v, %v", r, err)
	}
	r, err = do(t, a, ledger.Op{Want: 1})
	holds(t, r, err, "a")
}

// A program outside lockgw that holds the name on the servers that answer first, whichever
// those are, is waited for by all who come.
func TestTableOutsideEverywhere(t *testing.T) {
	t.Parallel()
	all, url := servers(t, 3)
	for _, s := range all {
		c := s.Client()
		if err := c.HSet(t.Context(), "x", "7c8a1f3e-1111-4222-8333-444455556666:52", 1).Err(); err != nil {
			t.Fatal(err)
		}
		if err := c.PExpire(t.Context(), "x", time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, node := range []string{"a", "b", "c", "d", "e", "f"} {
		n := openTable(t, url, node)
		for range 4 {
			r, err := do(t, n, ledger.Op{Want: 1})
			if err != nil || r.Record.Firm(node) != nil || r.Record.Entry(node) == nil {
				t.Fatalf("%s is to wait for a program outside lockgw: %+v, %v", node, r, err)
			}
			if r, err = do(t, n, ledger.Op{Verb: ledger.Leave}); err != nil || r.Record.Has(node) {
				t.Fatalf("%s is to leave: %+v, %v", node, r, err)
			}
		}
	}
}

// Fences that were ahead of a server's clock are not given again by it and another one, which was
// not asked then, when the name is forgotten: each server keeps a mark above them.
func TestTableFencesAheadOfTheClock(t *testing.T) {
	t.Parallel()
	all, url := servers(t, 3)
	trusted(t, all, url)
	high := time.Now().Add(2 * time.Hour).UnixMicro() // as if the clock of one had been set right
	if err := all[0].Client().Set(t.Context(), "lockgw:mark:{0}", fmt.Sprint(high, high), 0).Err(); err != nil {
		t.Fatal(err)
	}
	last := backend.Fence(high)
	for i, node := range []string{"a", "b"} {
		two := openTable(t, "redlock://"+all[i].Addr+","+all[i+1].Addr+",127.0.0.1:1", node)
		r, err := do(t, two, ledger.Op{Want: 1})
		holds(t, r, err, node)
		if id := r.Record.Firm(node).ID; id <= last {
			t.Errorf("%s has fence %d after %d", node, id, last)
		}
		last = r.Record.Top
		if r, err = do(t, two, ledger.Op{Verb: ledger.Leave}); err != nil || r.Record.Has(node) {
			t.Fatalf("%s is to leave: %+v, %v", node, r, err)
		}
		for _, s := range all {
			s.Client().Del(t.Context(), "lockgw:{x}") // as after a minute
		}
	}
}

// What is told for a move to another store is above fences that were ahead of the clock, also
// when their names are forgotten and a server is away.
func TestTableNewest(t *testing.T) {
	t.Parallel()
	all, url := servers(t, 3)
	a := openTable(t, url, "a")
	s := ledger.Swap{Name: "x", Record: ledger.Record{Top: 1, Holds: []ledger.Hold{{Node: "a", Count: 1, ID: 1}}}, Floor: backend.Fence(time.Now().Add(48 * time.Hour).UnixMicro())}
	r, err := a.Swap(t.Context(), s)
	holds(t, r, err, "a")
	top := r.Record.Top
	if r, err = do(t, a, ledger.Op{Verb: ledger.Leave}); err != nil || r.Record.Has("a") {
		t.Fatalf("a is to leave: %+v, %v", r, err)
	}
	for _, s := range all {
		s.Client().Del(t.Context(), "lockgw:{x}") // as after a minute
	}
	all[0].Kill()
	if least, err := floor.Of(t.Context(), a, time.Now()); err != nil || least <= top {
		t.Errorf("the floor is %d after %d, %v", least, top, err)
	}
	all[1].Kill()
	if least, err := floor.Of(t.Context(), a, time.Now()); err == nil {
		t.Errorf("with one server the floor is %d", least)
	}
}

// A lock that an administrator has deleted on one server is renewed all the same; it is lost
// where that was done on all.
func TestTableDeleted(t *testing.T) {
	t.Parallel()
	all, url := servers(t, 3)
	a := openTable(t, url, "a")
	r, err := do(t, a, ledger.Op{Want: 1})
	holds(t, r, err, "a")
	renewal := ledger.Renewal{Name: "x", ID: r.Record.Firm("a").ID, TTL: 40 * time.Second}
	del := func(servers []*redistest.Server) {
		for _, s := range servers {
			if err := s.Client().Del(t.Context(), "x").Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	del(all[:1])
	if errs, err := a.Renew(t.Context(), []ledger.Renewal{renewal}); err != nil || errs[0] != nil {
		t.Errorf("deleted on one server: %v, %v", errs, err)
	}
	del(all)
	if errs, err := a.Renew(t.Context(), []ledger.Renewal{renewal}); err != nil || !errors.Is(errs[0], backend.ErrNotHeld) {
		t.Errorf("deleted on all servers: %v, %v", errs, err)
	}
}

// A lock that is gone on two of five servers is held still: the other three are a majority.
func TestTableDeletedOnAMinority(t *testing.T) {
	t.Parallel()
	all, url := servers(t, 5)
	a, b := openTable(t, url, "a"), openTable(t, url, "b")
	for range 20 { // by whichever servers answer first
		r, err := do(t, a, ledger.Op{Want: 1})
		holds(t, r, err, "a")
		hold := r.Record.Firm("a").ID
		for _, s := range all[:2] {
			redistest.Await(t, "it is there", func() bool { return s.Client().Del(t.Context(), "x").Val() == 1 })
		}
		r, err = do(t, b, ledger.Op{Want: 1})
		if err != nil || r.Record.Firm("b") != nil || r.Record.Firm("a") == nil || r.Record.Entry("b") == nil {
			t.Fatalf("b is to wait for a: %+v, %v", r, err)
		}
		if errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: "x", ID: hold, TTL: 40 * time.Second}}); err != nil || errs[0] != nil {
			t.Fatalf("a cannot renew: %v, %v", errs, err)
		}
		for _, n := range []*redlock.Table{b, a} {
			if r, err = do(t, n, ledger.Op{Verb: ledger.Leave}); err != nil || r.Record.Has(n.Node()) {
				t.Fatalf("%s is to leave: %+v, %v", n.Node(), r, err)
			}
		}
	}
}

// So it is where a majority is asked of which none has the lock any more, or never had it.
func TestTableDeletedWhereItWasRead(t *testing.T) {
	t.Parallel()
	all, url := servers(t, 5)
	trusted(t, all, url)
	some := func(node string, which ...int) *redlock.Table {
		addrs := []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:4", "127.0.0.1:5"} // nobody is there
		for _, i := range which {
			addrs[i] = all[i].Addr
		}
		return openTable(t, "redlock://"+strings.Join(addrs, ","), node)
	}
	a := some("a", 0, 1, 2)
	r, err := do(t, a, ledger.Op{Want: 1})
	holds(t, r, err, "a")
	hold := r.Record.Firm("a").ID
	for _, s := range all[:3] {
		redistest.Await(t, "it is there", func() bool { return s.Client().Exists(t.Context(), "x").Val() == 1 })
	}
	for _, s := range all[:2] {
		s.Client().Del(t.Context(), "x")
	}
	for range 2 { // by what servers say, and by what they have promised
		if r, err := do(t, some("b", 0, 1, 3), ledger.Op{Want: 1}); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "deleted") {
			t.Fatalf("b is granted what a has: %+v, %v", r, err)
		}
	}
	c := openTable(t, url, "c")
	r, err = do(t, c, ledger.Op{Want: 1})
	if err != nil || r.Record.Firm("c") != nil || r.Record.Firm("a") == nil || r.Record.Entry("c") == nil {
		t.Fatalf("c is to wait for a: %+v, %v", r, err)
	}
	if errs, err := openTable(t, url, "a").Renew(t.Context(), []ledger.Renewal{{Name: "x", ID: hold, TTL: 40 * time.Second}}); err != nil || errs[0] != nil {
		t.Fatalf("a cannot renew: %v, %v", errs, err)
	}
}

func TestTableModes(t *testing.T) {
	t.Parallel()
	table, err := redlock.OpenTable(redlock.Config{URL: "redlock://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3/?max_ttl=2m", Node: backend.Node{ID: "a"}})
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	if is := table.Info(); is.Modes || is.MaxTTL != 2*time.Minute || is.Type != "redlock" {
		t.Errorf("it is said to be %+v", is)
	}
	record := ledger.Record{Top: 1, Holds: []ledger.Hold{{Node: "a", Mode: backend.Shared, Count: 1, ID: 1}}}
	if _, err := table.Swap(t.Context(), ledger.Swap{Name: "x", Record: record}); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "exclusive") {
		t.Errorf("a shared hold: %v", err)
	}
	if _, err := redlock.OpenTable(redlock.Config{URL: "redlock://a,b"}); err == nil {
		t.Error("two servers are taken for a majority")
	}
}
