package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
)

// While a minority is away, everything goes on; what was granted stays granted. A leader that
// is paused and comes back takes nothing away, nor does one that is killed. Without a majority
// nothing is granted, and the answer says that it is not known or not sent.
func TestMembersAway(t *testing.T) {
	t.Parallel()
	members := zktest.StartEnsemble(t, 3)
	url := brief(zktest.URL("away", members...))
	a, b := listen(t, url, "a"), listen(t, url, "b")
	first := a.TakeFor("n", time.Hour)
	for name, fault := range map[string]struct{ begin, end func(*zktest.Server) }{
		"paused": {func(s *zktest.Server) { s.Pause() }, func(s *zktest.Server) { s.Resume() }},
		"killed": {func(s *zktest.Server) { s.Kill() }, func(s *zktest.Server) { s.Restart() }},
	} {
		leader := zktest.Leader(t, members)
		fault.begin(leader)
		if r := b.Ask("n", ledger.Op{Want: 1, TTL: 10 * time.Second}); r.Record.Firm("a") == nil {
			t.Fatalf("leader %s: the hold of a is gone: %+v", name, r)
		}
		b.Leave("n")
		other := b.TakeFor("other", time.Hour)
		fault.end(leader)
		zktest.Settled(t, members)
		if again := a.Ask("other", ledger.Op{Verb: ledger.Pass}); again.Record.Firm("b") == nil || again.Record.Top < other.Record.Top {
			t.Errorf("leader %s: there is %+v, it was granted %+v", name, again, other)
		}
		b.Leave("other")
		a.Ask("n", ledger.Op{Want: 1, Hold: first.Record.Firm("a").ID, Keep: 1, Extend: true, TTL: time.Hour}) // its lease goes on
		a.Leave("n")
		first = a.TakeFor("n", time.Hour)
	}
	members[0].Kill()
	members[1].Kill()
	if r, err := a.Try("third", ledger.Op{Want: 1}); err == nil || !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrRefused) {
		t.Errorf("granted by a minority: %+v, %v", r, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := a.Ping(ctx); !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrRefused) {
		t.Errorf("ping = %v", err)
	}
	members[0].Restart()
	members[1].Restart()
	a.Take("third")
}

// A server that hangs and goes on, and one that is killed and starts again, have forgotten
// nothing, and nobody's session.
func TestServerAway(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t)
	url := brief(zktest.URL("x", s))
	a, b := listen(t, url, "a"), listen(t, url, "b")
	got := a.TakeFor("n", time.Hour)
	id := got.Record.Firm("a").ID
	for name, fault := range map[string]func(){
		"paused":    func() { s.Pause(); _, _ = b.Try("n", ledger.Op{Want: 1}); s.Resume() },
		"restarted": func() { s.Restart() },
	} {
		fault()
		until(t, name+": the hold is not renewed", func() bool { return a.RenewFor("n", id, time.Hour) == nil })
		if r := b.Ask("n", ledger.Op{Want: 1, Lapse: true}); r.Record.Firm("a") == nil {
			t.Errorf("%s: the hold is gone: %+v", name, r)
		}
		b.Leave("n")
		a.Reach(b.Client)
	}
}

// A member that takes connections and does not answer is left for another one, with the
// session.
func TestSilentMember(t *testing.T) {
	t.Parallel()
	s := zktest.Shared(t)
	w, at := newWire(t, s), chroot("silent")
	a := listen(t, w.url(at, s.Addr), "a")
	for n := 0; ; n++ { // until it is with the member that falls silent
		a.Take(a.Node())
		w.mu.Lock()
		with := len(w.conns) > 0
		w.mu.Unlock()
		if with {
			break
		}
		_ = a.Close()
		a = listen(t, w.url(at, s.Addr), fmt.Sprint("a", n))
	}
	before := a.listening.Present().id
	w.set(func() { w.mute = true })
	a.Take("other")
	if now := a.listening.Present(); now == nil || now.id != before {
		t.Error("the session was lost with the member")
	}
}

// A name is free once the session of its dead node has ended and its lease is over, and not
// before; who waits is told.
func TestDeadNode(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{time.Second, 5 * time.Second} {
		t.Run(ttl.String(), func(t *testing.T) {
			t.Parallel()
			url := brief(zktest.URL(chroot("dead-"+ttl.String()), zktest.Shared(t)))
			a, b := listen(t, url, "a"), listen(t, url, "b")
			id := a.hold("n", ttl).ID
			b.Ask("n", ledger.Op{Want: 1}) // it waits
			begin := time.Now()
			if err := a.RenewFor("n", id, ttl); err != nil {
				t.Fatal(err)
			}
			_ = a.Close()
			b.Hears(ledger.Look)
			b.Take("n")
			if took := time.Since(begin); took < ttl {
				t.Errorf("it was free after %v, want its ttl of %v or the session's 3 s", took, ttl)
			}
			// What comes late renews nothing.
			late := listen(t, url, "a")
			if err := late.RenewFor("n", id, ttl); !errors.Is(err, backend.ErrNotHeld) {
				t.Errorf("renewed: %v", err)
			}
		})
	}
}

// A node that is cut off for longer than its session lasts comes back with another one. What it
// held and nobody took goes on under that; the rest is lost.
func TestExpired(t *testing.T) {
	t.Parallel()
	s := zktest.Shared(t)
	w, at := newWire(t, s), chroot("expired")
	a, b := listen(t, brief(w.url(at)), "a"), listen(t, zktest.URL(at, s), "b")
	taken := a.hold("taken", time.Second).ID
	kept := a.TakeFor("kept", time.Minute)
	before := a.listening.Present().id
	w.set(func() { w.off = true })
	b.Take("taken")
	if r := b.Ask("kept", ledger.Op{Want: 1, Lapse: true}); r.Record.Firm("a") == nil {
		t.Fatalf("what was to last for a minute is gone: %+v", r)
	}
	w.set(func() { w.off = false })
	until(t, "it is not told that messages may have been missed", func() bool { return a.Resync.Load() > 0 })
	if a.listening.Present().id == before {
		t.Error("a session that has ended goes on")
	}
	if err := a.RenewFor("taken", taken, time.Second); !errors.Is(err, backend.ErrNotHeld) {
		t.Errorf("what somebody else has was renewed: %v", err)
	}
	if err := a.RenewFor("kept", kept.Record.Firm("a").ID, time.Minute); err != nil {
		t.Errorf("what nobody has taken: %v", err)
	}
	b.Reach(a.Client)
}

// A hold that was not renewed in time is written down as over; if nobody has taken it, it can
// still be renewed.
func TestLateRenewal(t *testing.T) {
	t.Parallel()
	url := zktest.URL(chroot("late"), zktest.Shared(t))
	a, b := listen(t, url, "a"), listen(t, url, "b")
	got := a.Take("n")
	id := got.Record.Firm("a").ID
	left := func() time.Duration {
		r, err := b.Look(t.Context(), "n")
		if err != nil {
			t.Fatal(err)
		}
		if r.Version != got.Version {
			t.Fatalf("the version changed from %s to %s", got.Version, r.Version)
		}
		return r.Record.Firm("a").End
	}
	until(t, "it is never over", func() bool { return left() <= 0 })
	if err := a.RenewFor("n", id, time.Minute); err != nil {
		t.Fatal(err)
	}
	if left() < 50*time.Second {
		t.Errorf("it lasts %v more, want a minute", left())
	}
	if r, err := b.Try("n", ledger.Op{Want: 1, Lapse: true}); err != nil || r.Record.Firm("a") == nil {
		t.Errorf("it was taken: %+v, %v", r, err)
	}
}

// The answer to a write is lost: what became of it is looked up, and told.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	w := newWire(t, zktest.Shared(t))
	a := listen(t, w.url(chroot("lost")), "a")
	version := ledger.Version("")
	for i := range 3 {
		record := ledger.Record{Top: backend.Fence(i + 1), Queue: []ledger.Entry{{Node: "a", Want: 1, Waiters: i}}}
		for range 100 {
			record.Queue = append(record.Queue, ledger.Entry{Node: fmt.Sprint("node-", len(record.Queue)), Want: 1})
		}
		if _, err := a.Look(t.Context(), "n"); err != nil { // the parent is known
			t.Fatal(err)
		}
		w.set(func() { w.last = 2000 })
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		r, err := a.Swap(ctx, ledger.Swap{Name: "n", Base: version, Record: record, Absolute: true})
		cancel()
		if err != nil || !r.Written {
			t.Fatalf("write %d: %+v, %v", i, r, err)
		}
		there, err := a.Look(t.Context(), "n")
		if err != nil || there.Version != r.Version || there.Record.Top != record.Top {
			t.Errorf("write %d: told %+v, there is %+v, %v", i, r, there, err)
		}
		version = r.Version
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.thrown != 3 {
		t.Errorf("%d answers were lost, want 3", w.thrown)
	}
}

// Whatever ends a session, who asks before there is another one is told that nothing was sent.
func TestNoSession(t *testing.T) {
	t.Parallel()
	for _, why := range []error{errDeleted, errBack, errors.New("it has expired"), fmt.Errorf("%w: x", backend.ErrUnavailable), backend.NotSent("x")} {
		table, err := OpenTable(Config{URL: "zookeeper://127.0.0.1:1", Node: backend.Node{ID: "a"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = table.Close() })
		table.Work.Go(func() { table.listening.Run(table.Life, func(bool) (bool, error) { return false, why }) })
		if _, err := table.listening.Wait(t.Context()); !errors.Is(err, backend.ErrRefused) || errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("after %q: %v", why, err)
		}
	}
}

// Somebody ends each session as soon as it has begun. Who asks between waits for the next
// one, and gets no error: with errors the gateway would take ZooKeeper for broken.
func TestRequestsWaitForTheSession(t *testing.T) {
	t.Parallel()
	s := zktest.Start(t)
	a := listen(t, zktest.URL("again", s), "a")
	a.Take("n")
	for range 4 {
		before := a.listening.Present()
		a.listening.Lost(before) // as a write says that finds it gone
		for begin := time.Now(); ; {
			if _, err := a.Look(t.Context(), "n"); err != nil {
				t.Fatalf("%v after the session was over, which had just begun, a request fails: %v", time.Since(begin), err)
			}
			if is := a.listening.Present(); is != nil && is != before {
				break
			}
			if time.Since(begin) > patience {
				t.Fatal("no other session begins")
			}
		}
	}
}

// The session of a gateway that begins another one is left to expire, also if nothing is held: what
// is granted at that moment relies on it.
func TestSessionIsLeft(t *testing.T) {
	t.Parallel()
	a := listen(t, zktest.URL(chroot("left"), zktest.Shared(t)), "a")
	a.Take("n")
	a.Leave("n")
	before := a.listening.Present()
	a.listening.Lost(before)
	until(t, "no other session begins", func() bool { is := a.listening.Present(); return is != nil && is != before })
	<-before.c.over
	if _, _, err := a.listening.Present().get(t.Context(), before.alive()); err != nil {
		t.Errorf("the znode of the session before: %v", err)
	}
}
