package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
	"github.com/lockgw/lockgw/backend/quorum/quorumtest"
)

// client is a Table that listens.
type client struct {
	*Table
	*quorumtest.Client
}

func listen(t *testing.T, url, node string) *client {
	t.Helper()
	return listens(t, open(t, url, node))
}

func listens(t *testing.T, table *Table) *client {
	t.Helper()
	return &client{table, quorumtest.Listen(t, table)}
}

const patience = quorumtest.Patience

// While a minority is away, everything goes on; what was granted stays granted. A leader
// that is paused and comes back takes nothing away, nor does one that is killed.
func TestMinorityAway(t *testing.T) {
	t.Parallel()
	members := etcdtest.StartEnsemble(t, 3)
	url := etcdtest.URL(members...)
	a, b := listen(t, url, "a"), listen(t, url, "b")
	first := a.Take("n")
	for name, fault := range map[string]struct{ begin, end func(*etcdtest.Server) }{
		"paused": {(*etcdtest.Server).Pause, (*etcdtest.Server).Resume},
		"killed": {(*etcdtest.Server).Kill, (*etcdtest.Server).Restart},
	} {
		leader := etcdtest.Leader(t, members)
		fault.begin(leader)
		if r := b.Ask("n", ledger.Op{Want: 1, TTL: 10 * time.Second}); r.Record.Firm("a") == nil {
			t.Fatalf("leader %s: the hold of a is gone: %+v", name, r)
		}
		b.Ask("n", ledger.Op{Verb: ledger.Leave})
		other := b.Take("other")
		fault.end(leader)
		if again := a.Ask("other", ledger.Op{Verb: ledger.Pass}); again.Record.Firm("b") == nil || again.Record.Top < other.Record.Top {
			t.Errorf("leader %s: there is %+v, it was granted %+v", name, again, other)
		}
		b.Ask("other", ledger.Op{Verb: ledger.Leave})
		a.Ask("n", ledger.Op{Want: 1, Hold: first.Record.Top, Keep: 1, Extend: true}) // its lease goes on
		first = a.Ask("n", ledger.Op{Verb: ledger.Leave})
		first = a.Take("n")
	}
}

// No majority: nothing is granted, and the answer says that it is not known or not sent.
func TestMajorityAway(t *testing.T) {
	t.Parallel()
	members := etcdtest.StartEnsemble(t, 3)
	a := listen(t, etcdtest.URL(members...), "a")
	a.Take("n")
	members[0].Kill()
	members[1].Kill()
	if r, err := a.Try("other", ledger.Op{Want: 1}); err == nil || !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrRefused) {
		t.Errorf("granted by a minority: %+v, %v", r, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := a.Ping(ctx); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("ping = %v", err)
	}
	members[0].Restart()
	members[1].Restart()
	a.Take("other")
}

// A name is free once the lease of its dead node has expired, and not before.
func TestDeadNode(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	a, b := listen(t, etcdtest.URL(s), "a"), listen(t, etcdtest.URL(s), "b")
	got := a.Take("n")
	begin := time.Now()
	if errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: "n", ID: got.Record.Top, TTL: time.Second}}); err != nil || errs[0] != nil {
		t.Fatal(errs, err)
	}
	_ = a.Close()
	b.Take("n")
	if took := time.Since(begin); took < time.Second || took > 20*time.Second {
		t.Errorf("it was free after %v, want its ttl of 1 s and what a busy machine adds", took)
	}
	// What comes late renews nothing.
	late := open(t, etcdtest.URL(s), "a")
	defer late.Close()
	if errs, err := late.Renew(t.Context(), []ledger.Renewal{{Name: "n", ID: got.Record.Top, TTL: time.Second}}); err != nil || !errors.Is(errs[0], backend.ErrNotHeld) {
		t.Errorf("renewed: %v, %v", errs, err)
	}
}

// A lease that nobody has kept alive is gone, and is not kept alive by who comes late; a hold
// that nobody has taken meanwhile goes on under a new one, as long as it is in the record.
func TestLateKeepAlive(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	a := listen(t, etcdtest.URL(s), "a")
	got := a.Take("n")
	c := etcdtest.Client(t, s)
	alive := func() int64 {
		r, err := c.Get(t.Context(), "lockgw/alive/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			t.Fatal(err)
		}
		return r.Count
	}
	for end := time.Now().Add(patience); alive() > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the lease does not expire")
		}
	}
	id := got.Record.Top
	errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: "n", ID: id, TTL: time.Minute}})
	if err != nil || errs[0] != nil {
		t.Fatal(errs, err)
	}
	if r, err := a.Look(t.Context(), "n"); err != nil || r.Version != got.Version || r.Record.Firm("a").End <= 0 || alive() != 1 {
		t.Errorf("there is %+v, %v, and %d leases", r, err, alive())
	}
}

// A node that was cut off from what is sent to it looks at everything again, and hears on.
func TestResync(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	a, b := listen(t, etcdtest.URL(s), "a"), listen(t, etcdtest.URL(s), "b")
	c := etcdtest.Client(t, s)
	a.Take("n")
	for i, fault := range []func() error{
		func() error { // the key goes, as when its lease has expired
			_, err := c.Delete(t.Context(), "lockgw/mail/a")
			return err
		},
		func() error { // everything that was written is forgotten
			s.Restart()
			r, err := c.Put(t.Context(), "x", "y")
			if err == nil {
				_, err = c.Compact(t.Context(), r.Header.Revision)
			}
			return err
		},
	} {
		before := a.Resync.Load()
		if err := fault(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(patience); i == 0 && a.Resync.Load() == before; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("fault %d: a is not told that messages may have been missed", i)
			}
		}
		b.Reach(a.Client)
	}
}

// While a node makes the key of its messages anew, its requests wait for that. They are not
// refused as if etcd did not answer, and the key is made once each time.
func TestRequestsWaitForTheKey(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	a := listen(t, etcdtest.URL(s), "a")
	c := etcdtest.Client(t, s)
	a.Take("n")
	for range 4 {
		time.Sleep(2 * quorum.RetryAfter)
		before := a.Resync.Load()
		if _, err := c.Delete(t.Context(), "lockgw/mail/a"); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(patience); a.Resync.Load() == before; {
			if _, err := a.Join(t.Context(), "nobodys", ledger.Entry{Node: "a", Want: 1}, 0); err != nil {
				t.Fatal(err)
			}
			a.listening.Lost(true) // as a write says that finds it gone
			if time.Now().After(end) {
				t.Fatal("a does not listen again")
			}
		}
		time.Sleep(2 * quorum.RetryAfter)
		if n := a.Resync.Load() - before; n > 2 { // one may come of the last request
			t.Errorf("the key was made %d times", n)
		}
	}
}

// The same if the key is gone as soon as it is there.
func TestRequestsWaitForTheKeyAgain(t *testing.T) {
	t.Parallel()
	a := listen(t, etcdtest.URL(etcdtest.Start(t)), "a")
	a.Take("n")
	for range 4 {
		before := a.Resync.Load()
		a.listening.Lost(true)
		for begin := time.Now(); a.Resync.Load() == before; {
			if _, err := a.Join(t.Context(), "nobodys", ledger.Entry{Node: "a", Want: 1}, 0); err != nil {
				t.Fatalf("%v after the key was gone, which had just been made, a request fails: %v", time.Since(begin), err)
			}
			if time.Since(begin) > patience {
				t.Fatal("a does not listen again")
			}
		}
	}
}

// Somebody who may write the keys writes nonsense.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	a := listen(t, etcdtest.URL(s), "a")
	c := etcdtest.Client(t, s)
	for _, value := range []string{"", "x", "2 - -\n{}", "1 - -\n{}", "1 x -\n{\"v\":1}", "1 - - -\n{\"v\":1}"} {
		if _, err := c.Put(t.Context(), "lockgw/l/n", value); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Try("n", ledger.Op{Want: 1}); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "lockgw/l/n") {
			t.Errorf("with %q there: %v", value, err)
		}
		if _, _, err := a.List(t.Context(), "", "", 10); !errors.Is(err, backend.ErrPartly) {
			t.Errorf("with %q there the list says %v", value, err)
		}
	}
	for _, value := range []string{"", "x", `{"notes":[{"kind":9,"name":"n"},{"kind":1}]}`, `{"notes":[{"kind":1,"name":"n"}],"row":"1 1=x:y -\n{}"}`} {
		if _, err := c.Put(t.Context(), "lockgw/mail/a", value, clientv3.WithIgnoreLease()); err != nil {
			t.Fatal(err)
		}
	}
	a.Hears(ledger.Look)
	a.Take("other")
}

// A record that nobody uses goes, and no fence of the next one is below it.
func TestSweep(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	a, b := listen(t, etcdtest.URL(s), "a"), listen(t, etcdtest.URL(s), "b")
	ahead := backend.Fence(1 << 52) // of every clock
	next, effects := ledger.Step(ledger.Record{}, ledger.Op{Node: "a", Want: 1, Turns: 1, TTL: time.Second}, 0)
	if r, err := a.Swap(t.Context(), ledger.Swap{Name: "n", Record: next, Effects: effects, Floor: ahead}); err != nil || !r.Written {
		t.Fatal(r, err)
	}
	b.TakeFor("used", time.Minute)
	dead := open(t, etcdtest.URL(s), "c")
	c := listens(t, dead)
	c.Take("dead")
	_ = dead.Close()
	a.Ask("n", ledger.Op{Verb: ledger.Leave})
	if err := b.delete(t.Context(), map[string]leftover{"used": {at: at{rev: 1}, top: 5}}); err != nil { // it was written since
		t.Fatal(err)
	}
	if err := a.delete(t.Context(), a.due(0)); err != nil {
		t.Fatal(err)
	}
	gone := func(name string) bool {
		r, err := b.Look(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return r.Version == ""
	}
	if !gone("n") || gone("used") {
		t.Errorf("n is gone: %v; used is gone: %v", gone("n"), gone("used"))
	}
	if newest, err := listen(t, etcdtest.URL(s), "floor").Newest(t.Context()); err != nil || newest <= ahead {
		t.Errorf("the newest fence is %d, %v, although %d was given", newest, err, ahead)
	}
	if r := b.TakeFor("n", time.Minute); r.Record.Top <= ahead {
		t.Errorf("fence %d comes after %d", r.Record.Top, ahead)
	}
	for end := time.Now().Add(patience); !gone("dead"); time.Sleep(50 * time.Millisecond) { // what the dead have left
		if time.Now().After(end) {
			t.Fatal("what a dead node held stays")
		}
		if err := a.scan(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := a.delete(t.Context(), a.due(0)); err != nil {
			t.Fatal(err)
		}
	}
	if gone("n") {
		t.Error("a record of a living node was deleted")
	}
}
