package zookeeper

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
)

// What was granted after a copy was made is forgotten when that is put in place: nobody is
// granted anything until it is over, while its holder may write it down again. So it is for a
// gateway that was running, and for one that begins then.
func TestRestored(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t)
	guarded := func(node string) *client {
		return listen(t, brief(zktest.URL("restored", s)), node, func(c *Config) { c.Lease = 5 * time.Second })
	}
	a, b := guarded("a"), guarded("b")
	a.Take("before")
	s.Kill()
	copied := s.Copy()
	s.Restart()
	b.Take("else")
	held := a.hold("n", time.Hour)
	for _, c := range []*client{a, b} { // as after ten seconds by itself
		until(t, "the pulse is not written", func() bool { return c.listening.Present() != nil && c.listening.Present().beat(t.Context()) == nil })
	}
	s.Restore(copied)
	var late *backend.Later
	var err error
	for end := time.Now().Add(patience); late == nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var r ledger.Reply
		if r, err = b.Try("n", ledger.Op{Want: 1}); err == nil {
			t.Fatalf("what is held is granted again: %+v", r)
		}
		errors.As(err, &late)
	}
	if !errors.Is(err, backend.ErrRefused) || late == nil || late.After <= 0 || late.After > 5*time.Second {
		t.Fatalf("the error is %v, want one that says for how long", err)
	}
	if err := b.Ping(t.Context()); !errors.Is(err, backend.ErrRefused) {
		t.Errorf("ping = %v", err)
	}
	if r, err := b.Look(t.Context(), "n"); err != nil || r.Refusing == "" {
		t.Errorf("look = %+v, %v", r, err)
	}
	c := guarded("c")
	until(t, "a gateway that begins now does not get through", func() bool {
		_, err = c.Try("n", ledger.Op{Want: 1})
		return !errors.Is(err, backend.ErrUnreachable)
	})
	if !errors.As(err, &late) {
		t.Errorf("a gateway that begins now: %v", err)
	}
	// The holder says what it had.
	var seen ledger.Reply
	until(t, "the holder does not get through", func() bool { seen, err = a.Look(t.Context(), "n"); return err == nil })
	if seen.Version != "" {
		t.Fatalf("the copy is not an older one: %+v", seen)
	}
	op := ledger.Op{Verb: ledger.Reclaim, Node: "a", Hold: held.ID, Keep: 1, Turns: 1, Restore: true, Floor: held.ID, TTL: time.Minute}
	next, effects := ledger.Step(seen.Record, op, 0)
	until(t, "the holder cannot write it down again", func() bool {
		r, err := a.Swap(t.Context(), ledger.Swap{Name: "n", Record: next, Effects: effects, Absolute: true})
		return err == nil && r.Written
	})
	b.Take("other") // once it is over
	if r := b.Ask("n", ledger.Op{Want: 1, Lapse: true}); r.Record.Firm("a") == nil || r.Record.Firm("a").ID != held.ID {
		t.Errorf("there is %+v, want the hold of a", r)
	}
}

// What a node remembers of a store that was restored since is not taken for what is there now,
// although znodes have the same versions again.
func TestRemembered(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t)
	guarded := func(node string) *client {
		return listen(t, brief(zktest.URL("remembered", s)), node, func(c *Config) { c.Lease = time.Second })
	}
	a, b := guarded("a"), guarded("b")
	a.Take("other")
	s.Kill()
	copied := s.Copy()
	s.Restart()
	a.Take("n")
	a.Leave("n")
	remembered, err := ledger.Reply{}, error(nil)
	until(t, "the store does not answer", func() bool { remembered, err = a.Look(t.Context(), "n"); return err == nil })
	before := a.listening.Present()
	s.Restore(copied)
	until(t, "the restored store is not used", func() bool { is := a.listening.Present(); return is != nil && is != before && a.distrust() == nil })
	b.TakeFor("n", time.Hour)
	z := zktest.Client(t, s)
	path := a.paths.record("n")
	was, _, err := parseVersion(remembered.Version)
	if err != nil {
		t.Fatal(err)
	}
	value, st, err := z.Get(path)
	for ; err == nil && st.Version < was.version; st, err = z.Set(path, value, -1) {
	}
	if err != nil || st.Version != was.version {
		t.Fatalf("it has the version %d, not %d, %v", st.Version, was.version, err)
	}
	next, effects := ledger.Step(remembered.Record, ledger.Op{Node: "a", Want: 1, Turns: 1, TTL: time.Second}, 0)
	var r ledger.Reply
	until(t, "the restored store is not trusted", func() bool { // a may have noticed only now that it was restored
		r, err = a.Swap(t.Context(), ledger.Swap{Name: "n", Base: remembered.Version, Record: next, Effects: effects})
		return !errors.Is(err, backend.ErrRefused)
	})
	if err != nil || r.Written || r.Record.Firm("b") == nil {
		t.Errorf("it was swapped for what b has: %+v, %v", r, err)
	}
}

// Every time that a copy is put in place is noticed, also if it is the same copy again, in which
// znodes get the versions that they had after the time before.
func TestRestoredAgain(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t)
	a := listen(t, brief(zktest.URL("again", s)), "a", func(c *Config) { c.Lease = 2 * time.Second })
	a.Take("before")
	s.Kill()
	copied := s.Copy()
	s.Restart()
	for i := range 2 {
		until(t, "nothing is granted any more", func() bool { return a.distrust() == nil })
		held := fmt.Sprint("held-", i)
		a.TakeFor(held, time.Hour)
		until(t, "the pulse is not written", func() bool { is := a.listening.Present(); return is != nil && is.beat(t.Context()) == nil })
		s.Restore(copied)
		var late *backend.Later
		until(t, "nobody says for how long nothing is granted", func() bool {
			r, err := a.Try("other", ledger.Op{Want: 1})
			if err == nil && r.Record.Firm("a") != nil {
				t.Fatalf("restored for the %d. time, and it grants", i+1)
			}
			return errors.As(err, &late)
		})
	}
}

// Who was there before an alarm waits for it, whatever the clocks say; who begins long after one
// does not.
func TestAlarm(t *testing.T) {
	t.Parallel()
	hourOld := zk.Stat{Czxid: 1, Version: 1, Mtime: time.Now().Add(-time.Hour).UnixMilli()}
	alarm := birth{Lease: time.Minute.Milliseconds()}
	for begun, want := range map[bool]bool{true: true, false: false} {
		var g guard
		if begun {
			g.see(&zk.Stat{Czxid: 1}, birth{})
		}
		g.see(&hourOld, alarm)
		if waits := g.until > now(); waits != want {
			t.Errorf("begun before: %v; it waits: %v", begun, waits)
		}
	}
}

// The next process of a node is no sign of an older copy, nor is a node that comes back later;
// two at once are told.
func TestSameNode(t *testing.T) {
	t.Parallel()
	url := zktest.URL(chroot("same"), zktest.Shared(t))
	first := listen(t, url, "a")
	first.Take("n")
	_ = first.Close()
	second := listen(t, url, "a")
	second.Take("m")
	third := listen(t, url, "a")
	third.Take("o")
	until(t, "the process before does not notice that another is there", func() bool {
		err := second.Ping(t.Context())
		return err != nil && errors.Is(err, backend.ErrRefused)
	})
	if err := third.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if third.distrust() != nil || second.distrust() != nil {
		t.Error("they take it for an older copy")
	}
}

// Whatever somebody deletes below the chroot, the gateways make it anew and go on. Without their
// pulses the store may be an older copy, so that they wait first.
func TestDeletedByHand(t *testing.T) {
	t.Parallel()
	s, at := zktest.Shared(t), chroot("deleted")
	short := func(cfg *Config) { cfg.Lease = time.Second }
	a, b := listen(t, zktest.URL(at, s), "a", short), listen(t, zktest.URL(at, s), "b", short)
	z := zktest.Client(t, s)
	for _, part := range []string{"/l", "/n", "/m", "/p", "/birth", ""} {
		was := a.TakeFor("n", time.Minute).Record.Top
		a.Leave("n")
		if err := deleteAll(z, "/"+at+part); err != nil {
			t.Fatal(err)
		}
		for _, c := range []*client{b, a} {
			until(t, c.Node()+" is granted nothing after "+part+" was deleted", func() bool {
				r, err := c.Try("n", ledger.Op{Want: 1, TTL: time.Minute})
				return err == nil && r.Written
			})
			if r := c.Ask("n", ledger.Op{Verb: ledger.Sync}); r.Record.Top <= was {
				t.Errorf("fence %d comes after %d", r.Record.Top, was)
			}
			c.Leave("n")
		}
	}
}

// deleteAll deletes a znode with all below it, while others make some anew.
func deleteAll(z *zk.Conn, path string) error {
	for {
		below, _, err := z.Children(path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		for _, child := range below {
			err = errors.Join(err, deleteAll(z, path+"/"+child))
		}
		if err == nil {
			err = z.Delete(path, -1)
		}
		if !errors.Is(err, zk.ErrNotEmpty) {
			return err
		}
	}
}
