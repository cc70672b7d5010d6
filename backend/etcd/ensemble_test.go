package etcd

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
)

// client is a Table and what was told to it.
type client struct {
	*Table
	t      *testing.T
	resync atomic.Int64
	told   chan ledger.Addressed
}

func listen(t *testing.T, url, node string) *client {
	t.Helper()
	c := &client{Table: open(t, url, node), t: t, told: make(chan ledger.Addressed, 1000)}
	c.hearAll()
	return c
}

func (c *client) hearAll() {
	c.Listen(func(m ledger.Addressed) {
		if m.Kind == ledger.Resync {
			c.resync.Add(1)
			return
		}
		c.told <- m
	})
	c.t.Cleanup(func() { _ = c.Close() })
}

// patience is how long a busy machine may take for what has to come.
const patience = time.Minute

// ask does op to what is there now, until there is an answer.
func (c *client) ask(name string, op ledger.Op) ledger.Reply {
	c.t.Helper()
	var last error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		r, err := c.try(name, op)
		if err == nil && r.Written {
			return r
		}
		last = err
	}
	c.t.Fatalf("no answer in %v: %v", patience, last)
	return ledger.Reply{}
}

func (c *client) try(name string, op ledger.Op) (ledger.Reply, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 3*time.Second)
	defer cancel()
	r, err := c.Look(ctx, name)
	if err != nil {
		return r, err
	}
	op.Node, op.Turns, op.OfferTTL = c.Node(), 1, time.Second
	if op.TTL == 0 {
		op.TTL = time.Second
	}
	if h := r.Record.Firm(c.Node()); op.Verb == ledger.Leave && h != nil {
		op.Hold = h.ID
	}
	next, effects := ledger.Step(r.Record, op, 0)
	return c.Swap(ctx, ledger.Swap{Name: name, Base: r.Version, Record: next, Effects: effects})
}

func (c *client) take(name string) ledger.Reply {
	c.t.Helper()
	return c.takeFor(name, time.Second)
}

func (c *client) takeFor(name string, ttl time.Duration) ledger.Reply {
	c.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		r := c.ask(name, ledger.Op{Want: 1, Lapse: true, TTL: ttl})
		if r.Record.Firm(c.Node()) != nil {
			return r
		}
		if time.Now().After(end) {
			c.t.Fatalf("%s was not granted: %+v", name, r)
		}
	}
}

func (c *client) hears(k ledger.Kind) {
	c.t.Helper()
	for end := time.After(patience); ; {
		select {
		case m := <-c.told:
			if m.Kind == k {
				return
			}
		case <-end:
			c.t.Fatalf("%s is not told %d", c.Node(), k)
		}
	}
}

// While a minority is away, everything goes on; what was granted stays granted. A leader
// that is paused and comes back takes nothing away, nor does one that is killed.
func TestMinorityAway(t *testing.T) {
	t.Parallel()
	members := etcdtest.StartEnsemble(t, 3)
	url := etcdtest.URL(members...)
	a, b := listen(t, url, "a"), listen(t, url, "b")
	first := a.take("n")
	for name, fault := range map[string]struct{ begin, end func(*etcdtest.Server) }{
		"paused": {(*etcdtest.Server).Pause, (*etcdtest.Server).Resume},
		"killed": {(*etcdtest.Server).Kill, (*etcdtest.Server).Restart},
	} {
		leader := etcdtest.Leader(t, members)
		fault.begin(leader)
		if r := b.ask("n", ledger.Op{Want: 1, TTL: 10 * time.Second}); r.Record.Firm("a") == nil {
			t.Fatalf("leader %s: the hold of a is gone: %+v", name, r)
		}
		b.ask("n", ledger.Op{Verb: ledger.Leave})
		other := b.take("other")
		fault.end(leader)
		if again := a.ask("other", ledger.Op{Verb: ledger.Pass}); again.Record.Firm("b") == nil || again.Record.Top < other.Record.Top {
			t.Errorf("leader %s: there is %+v, it was granted %+v", name, again, other)
		}
		b.ask("other", ledger.Op{Verb: ledger.Leave})
		a.ask("n", ledger.Op{Want: 1, Hold: first.Record.Top, Keep: 1, Extend: true}) // its lease goes on
		first = a.ask("n", ledger.Op{Verb: ledger.Leave})
		first = a.take("n")
	}
}

// No majority: nothing is granted, and the answer says that it is not known or not sent.
func TestMajorityAway(t *testing.T) {
	t.Parallel()
	members := etcdtest.StartEnsemble(t, 3)
	a := listen(t, etcdtest.URL(members...), "a")
	a.take("n")
	members[0].Kill()
	members[1].Kill()
	if r, err := a.try("other", ledger.Op{Want: 1}); err == nil || !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrRefused) {
		t.Errorf("granted by a minority: %+v, %v", r, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := a.Ping(ctx); !errors.Is(err, backend.ErrUnavailable) {
		t.Errorf("ping = %v", err)
	}
	members[0].Restart()
	members[1].Restart()
	a.take("other")
}

// A name is free once the lease of its dead node has expired, and not before.
func TestDeadNode(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	a, b := listen(t, etcdtest.URL(s), "a"), listen(t, etcdtest.URL(s), "b")
	got := a.take("n")
	begin := time.Now()
	if errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: "n", ID: got.Record.Top, TTL: time.Second}}); err != nil || errs[0] != nil {
		t.Fatal(errs, err)
	}
	_ = a.Close()
	b.take("n")
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
	got := a.take("n")
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

// reach has from send to the other until that hears it: it may begin anew to listen just then.
func reach(t *testing.T, from, to *client) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		m := ledger.Addressed{Name: "reach", Message: ledger.Message{Node: to.Node(), Kind: ledger.Tell}}
		if err := from.Send(t.Context(), []ledger.Addressed{m}); err != nil {
			continue
		}
		for wait := time.After(200 * time.Millisecond); ; {
			select {
			case got := <-to.told:
				if got.Name == "reach" {
					return
				}
				continue
			case <-wait:
			}
			break
		}
	}
	t.Fatalf("%s hears nothing of %s", to.Node(), from.Node())
}

// A node that was cut off from what is sent to it looks at everything again, and hears on.
func TestResync(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	a, b := listen(t, etcdtest.URL(s), "a"), listen(t, etcdtest.URL(s), "b")
	c := etcdtest.Client(t, s)
	a.take("n")
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
		before := a.resync.Load()
		if err := fault(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(patience); i == 0 && a.resync.Load() == before; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("fault %d: a is not told that messages may have been missed", i)
			}
		}
		reach(t, b, a)
	}
}

// While a node makes the key of its messages anew, its requests wait for that. They are not
// refused as if etcd did not answer, and the key is made once each time.
func TestRequestsWaitForTheKey(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	a := listen(t, etcdtest.URL(s), "a")
	c := etcdtest.Client(t, s)
	a.take("n")
	for range 4 {
		time.Sleep(2 * quorum.RetryAfter)
		before := a.resync.Load()
		if _, err := c.Delete(t.Context(), "lockgw/mail/a"); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(patience); a.resync.Load() == before; {
			if _, err := a.Join(t.Context(), "nobodys", ledger.Entry{Node: "a", Want: 1}, 0); err != nil {
				t.Fatal(err)
			}
			a.listening.Lost(true) // as a write says that finds it gone
			if time.Now().After(end) {
				t.Fatal("a does not listen again")
			}
		}
		time.Sleep(2 * quorum.RetryAfter)
		if n := a.resync.Load() - before; n > 2 { // one may come of the last request
			t.Errorf("the key was made %d times", n)
		}
	}
}

// The same if the key is gone as soon as it is there.
func TestRequestsWaitForTheKeyAgain(t *testing.T) {
	t.Parallel()
	a := listen(t, etcdtest.URL(etcdtest.Start(t)), "a")
	a.take("n")
	for range 4 {
		before := a.resync.Load()
		a.listening.Lost(true)
		for begin := time.Now(); a.resync.Load() == before; {
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
		if _, err := a.try("n", ledger.Op{Want: 1}); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "lockgw/l/n") {
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
	a.hears(ledger.Look)
	a.take("other")
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
	b.takeFor("used", time.Minute)
	dead := open(t, etcdtest.URL(s), "c")
	dead.Listen(func(ledger.Addressed) {})
	c := &client{Table: dead, t: t}
	c.take("dead")
	_ = dead.Close()
	a.ask("n", ledger.Op{Verb: ledger.Leave})
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
	if r := b.takeFor("n", time.Minute); r.Record.Top <= ahead {
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
