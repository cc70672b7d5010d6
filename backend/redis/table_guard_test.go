package redis_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// wantLater has n refused a grant for a while, and for a reason.
func wantLater(t *testing.T, err error) {
	t.Helper()
	var later *backend.Later
	if !errors.As(err, &later) || !errors.Is(err, backend.ErrRefused) || later.After <= 0 || later.After > tableQuarantine {
		t.Fatalf("granted in quarantine, or refused otherwise: %v", err)
	}
}

// wantQuarantineTold has n tell that it lasts, and until when.
func wantQuarantineTold(t *testing.T, n *node) {
	t.Helper()
	err, later := n.Ping(t.Context()), (*backend.Later)(nil)
	if !errors.Is(err, backend.ErrPartly) || !strings.Contains(err.Error(), "new locks from 20") {
		t.Errorf("ping = %v, want %v with the end of the quarantine", err, backend.ErrPartly)
	}
	if !errors.As(err, &later) || later.After <= 0 || later.After > tableQuarantine {
		t.Errorf("ping = %v, want one that says when it is over", err)
	}
	if seen := n.look("free"); !strings.Contains(seen.Refusing, "new locks from 20") {
		t.Errorf("look = %+v, want the end of the quarantine", seen)
	}
}

// A server that comes back empty, or with an earlier copy, grants nothing for a while. Whoever
// held a name has it written down again meanwhile.
func TestTableQuarantine(t *testing.T) {
	durable := []string{"--appendonly", "yes", "--appendfsync", "always"}
	for name, tt := range map[string]struct {
		args   []string
		copied bool
	}{"empty": {}, "empty, and durable": {args: durable}, "an earlier copy": {args: durable, copied: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, tt.args...)
			forget := s.RestartEmpty
			if tt.copied {
				before := s.Copy()
				forget = func() { s.Restore(before) }
			}
			a, b := openNode(t, s.URL(), "a", redis.GuardQuarantine), openNode(t, s.URL(), "b", redis.GuardQuarantine)
			h := a.takes("x")
			b.takes("y")
			forget()
			began := time.Now()
			// The first request after the restart, whatever connection it finds.
			var err error
			within(t, "the server answers", func() bool {
				_, err = b.Swap(t.Context(), b.swapOf("x", ledger.Reply{}, ledger.Op{Want: 1}))
				return err == nil || errors.As(err, new(*backend.Later))
			})
			wantLater(t, err)
			for _, n := range []*node{a, b} {
				n.hears("", ledger.Resync)
				_, err := n.try("z", ledger.Op{Want: 1})
				wantLater(t, err)
				wantQuarantineTold(t, n)
			}
			r, err := a.try("x", ledger.Op{Verb: ledger.Reclaim, Hold: h.ID, Keep: 1, Restore: true, Floor: h.ID + 1<<30})
			if err != nil || !r.Written {
				t.Errorf("the hold that was forgotten: %+v, %v", r, err)
			}
			r, err = b.Join(t.Context(), "x", ledger.Entry{Node: "b", Want: 1}, 0)
			if err != nil || r.Record.Firm("a") == nil || r.Record.Firm("a").ID != h.ID || r.Record.Entry("b") == nil {
				t.Errorf("the hold that was forgotten: %+v, %v", r, err)
			}
			a.leaves("x")
			_, err = b.try("x", ledger.Op{Want: 1}) // it was offered
			wantLater(t, err)
			within(t, "the quarantine is over", func() bool {
				r, err := b.try("x", ledger.Op{Want: 1})
				return err == nil && r.Written && r.Record.Firm("b") != nil
			})
			if d := time.Since(began); d < tableQuarantine {
				t.Errorf("granted %v after the restart, want %v", d, tableQuarantine)
			}
			there := b.look("x")
			if next := there.Record.Firm("b"); next == nil || next.ID <= h.ID {
				t.Errorf("fence %v after %d", next, h.ID)
			}
			for _, n := range []*node{a, b} { // a has not asked for a lock since
				if err := n.Ping(t.Context()); err != nil {
					t.Errorf("ping: %v", err)
				}
				if seen := n.look("free"); seen.Refusing != "" {
					t.Errorf("look after the quarantine = %+v, want no word of it", seen)
				}
			}
		})
	}
}

// A gateway that has not listened, and to which nobody has said anything, grants nothing
// on a server that was restarted: that one does not know its script.
func TestTableQuarantineUnheard(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	quiet := &node{Table: openTable(t, redistest.Patient(s.URL()), "quiet", redis.GuardQuarantine), t: t, id: "quiet"}
	quiet.takes("x")
	s.RestartEmpty()
	var err error
	within(t, "the server answers", func() bool {
		_, err = quiet.Swap(t.Context(), quiet.swapOf("y", ledger.Reply{}, ledger.Op{Want: 1}))
		return err == nil || errors.As(err, new(*backend.Later))
	})
	wantLater(t, err)
}

// A replica that takes over has not heard of all grants.
func TestTableQuarantineAfterFailover(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, 1)
	a, b := openNode(t, w.URL(), "a", redis.GuardQuarantine), openNode(t, w.URL(), "b", redis.GuardQuarantine)
	a.takes("known")
	redistest.CutOff(t, w.Master, w.Replica)
	a.takes("lost")
	w.Master.Kill()
	w.Replica.Resume()
	w.AwaitMaster(w.Replica)
	var err error
	within(t, "the new master answers", func() bool {
		_, err = b.Swap(t.Context(), b.swapOf("lost", ledger.Reply{}, ledger.Op{Want: 1}))
		return err == nil || errors.As(err, new(*backend.Later))
	})
	wantLater(t, err)
}

// The replica that takes over has an older record, by which a node still holds what it has
// given back since, and another one has got. That node is not granted it anew.
func TestTableQuarantineOfAnOlderRecord(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, 1)
	a, b := openNode(t, w.URL(), "a", redis.GuardQuarantine), openNode(t, w.URL(), "b", redis.GuardQuarantine)
	a.takes("x")
	within(t, "the replica has heard of it", func() bool { return w.Replica.Client().Exists(t.Context(), "x").Val() == 1 })
	redistest.CutOff(t, w.Master, w.Replica)
	a.leaves("x")
	b.takes("x")
	w.Master.Kill()
	w.Replica.Resume()
	w.AwaitMaster(w.Replica)
	var there ledger.Reply
	var err error
	within(t, "the new master answers", func() bool {
		there, err = a.Look(t.Context(), "x")
		return err == nil
	})
	if there.Record.Firm("a") == nil {
		t.Fatalf("it has no older record: %+v", there.Record)
	}
	within(t, "the new master answers", func() bool {
		s := a.swapOf("x", there, ledger.Op{Want: 1, Hold: 1}) // of which it does not know any more
		_, err = a.Swap(t.Context(), s)
		return err == nil || errors.As(err, new(*backend.Later))
	})
	wantLater(t, err)
}

// A server leads, follows another one, and leads again: it is the same run of it, and has
// missed what the other one granted.
func TestTableQuarantineAfterFailback(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, 1)
	a, b := openNode(t, w.URL(), "a", redis.GuardQuarantine), openNode(t, w.URL(), "b", redis.GuardQuarantine)
	granted := func(n *node, name string) bool {
		seen, err := n.Look(t.Context(), name)
		if err != nil {
			return false
		}
		r, err := n.Swap(t.Context(), n.swapOf(name, seen, ledger.Op{Want: 1}))
		return err == nil && r.Written
	}
	within(t, "the first master grants", func() bool { return granted(a, "a-1") && granted(b, "b-1") })
	w.SwitchTo(w.Master, w.Replica)
	within(t, "the second master is trusted", func() bool { return granted(a, "a-2") && granted(b, "b-2") })
	redistest.CutOff(t, w.Replica, w.Master)
	within(t, "the second master grants", func() bool { return granted(a, "x") })
	w.Replica.Kill()
	w.Master.Resume()
	w.AwaitMaster(w.Master)
	var err error
	within(t, "the first master answers", func() bool {
		_, err = b.Swap(t.Context(), b.swapOf("x", ledger.Reply{}, ledger.Op{Want: 1}))
		return err == nil || errors.As(err, new(*backend.Later))
	})
	wantLater(t, err)
}

// A gateway is cut off while its server follows another one and leads again: it does not
// take the word of the server from before for granted, whichever request comes first.
func TestTableQuarantineAfterUnseenFailback(t *testing.T) {
	t.Parallel()
	s, other := redistest.Start(t), redistest.Start(t)
	link := redistest.Proxy(t, s.Addr)
	url := redistest.Patient("redis://" + link.Addr)
	quiet := &node{Table: openTable(t, url, "quiet", redis.GuardQuarantine), t: t, id: "quiet"}
	quiet.takes("x")
	link.Set(redistest.BlackHole)
	since := time.Now()
	c := s.Client()
	mark := c.Get(t.Context(), "lockgw:guard:{0}").Val() // other has it, too, as one that was its replica
	other.Client().Set(t.Context(), "lockgw:guard:{0}", mark, 0)
	host, port, _ := strings.Cut(other.Addr, ":")
	for _, args := range [][]any{{"REPLICAOF", host, port}, {"REPLICAOF", "NO", "ONE"}} {
		if err := c.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
		if args[1] == host {
			within(t, "it follows", func() bool {
				return strings.Contains(c.Info(t.Context(), "replication").Val(), "master_link_status:up")
			})
		}
	}
	within(t, "the gateway has heard nothing for a while", func() bool { return time.Since(since) > 4*time.Second })
	link.Set(redistest.Pass)
	var err error
	within(t, "the server answers", func() bool {
		_, err = quiet.Swap(t.Context(), quiet.swapOf("y", ledger.Reply{}, ledger.Op{Want: 1}))
		return err == nil || errors.As(err, new(*backend.Later))
	})
	wantLater(t, err)
}

// What a server has on its disk proves nothing: that may be an older copy.
func TestTableQuarantineWhateverIsOnDisk(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	a, b := openNode(t, s.URL(), "a", redis.GuardQuarantine), openNode(t, s.URL(), "b", redis.GuardQuarantine)
	a.takes("x")
	s.Restart()
	for _, n := range []*node{a, b} {
		n.hears("", ledger.Resync)
		_, err := n.try("y", ledger.Op{Want: 1})
		wantLater(t, err)
	}
}

// A master begins a new replication for its first replica, and has forgotten nothing.
func TestTableNoQuarantineForANewReplica(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a := openNode(t, s.URL(), "a", redis.GuardQuarantine)
	a.takes("x")
	id := func() string {
		_, id, _ := strings.Cut(s.Client().Info(t.Context(), "replication").Val(), "master_replid:")
		id, _, _ = strings.Cut(id, "\r\n")
		return id
	}
	before := id()
	redistest.Start(t, "--replicaof", strings.ReplaceAll(s.Addr, ":", " "))
	within(t, "the replication is another", func() bool { return id() != before })
	a.takes("y")
	if err := a.Ping(t.Context()); err != nil {
		t.Errorf("ping: %v", err)
	}
}

// While Redis is full, nobody is granted anything, and nobody is kept from giving back.
func TestTableFullRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	a := openNode(t, s.URL(), "a", redis.GuardQuarantine)
	h := a.takes("x")
	if err := rdb.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.try("y", ledger.Op{Want: 1}); !errors.Is(err, backend.ErrRefused) {
		t.Errorf("a grant by a full Redis: %v", err)
	}
	if errs, err := a.Renew(t.Context(), []ledger.Renewal{{Name: "x", ID: h.ID, TTL: time.Minute}}); err != nil || errs[0] != nil {
		t.Errorf("a renewal by a full Redis: %v, %v", errs, err)
	}
	a.leaves("x")
	rdb.ConfigSet(t.Context(), "maxmemory", "0")
	a.takes("y")
}

// While the clock of Redis is behind what it was, fences of names that are forgotten go on
// growing all the same.
func TestTableClockSetBack(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	a := openNode(t, s.URL(), "a", redis.GuardNone)
	a.takes("x")
	clock, top := time.Now().Add(time.Hour).UnixMicro(), time.Now().Add(2*time.Hour).UnixMicro()
	if err := rdb.Set(t.Context(), "lockgw:mark:{0}", fmt.Sprint(clock, top), 0).Err(); err != nil {
		t.Fatal(err)
	}
	last := backend.Fence(top)
	for range 5 {
		h := a.takes("y")
		if h.ID <= last {
			t.Fatalf("fence %d after %d", h.ID, last)
		}
		if h.ID > last+1<<30 {
			t.Errorf("fence %d is far from %d", h.ID, last)
		}
		last = h.ID
		a.leaves("y")
		rdb.Del(t.Context(), "lockgw:{y}") // as after a minute
	}
	if h := a.takes("z"); h.ID <= last {
		t.Errorf("a new name begins at %d, not above %d", h.ID, last)
	}
}

// Fences that were ahead of the clock from the start, as those above a floor or of a record that
// other servers have chosen, are not given again once their name is forgotten.
func TestTableFencesAheadOfTheClock(t *testing.T) {
	t.Parallel()
	high := backend.Fence(time.Now().Add(time.Hour).UnixMicro())
	for name, first := range map[string]func(s ledger.Swap) ledger.Swap{
		"by a floor": func(s ledger.Swap) ledger.Swap {
			s.Floor = high
			return s
		},
		"as they stand": func(s ledger.Swap) ledger.Swap {
			s.Record.Rebase(high)
			for i := range s.Effects.Stamps {
				s.Effects.Stamps[i].ID += high
			}
			s.Absolute = true
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			a := openNode(t, s.URL(), "a", redis.GuardNone)
			last := backend.Fence(0)
			takes := func(name string, s ledger.Swap) {
				t.Helper()
				r, err := a.Swap(t.Context(), s)
				if err != nil || !r.Written {
					t.Fatalf("%s is not granted: %+v, %v", name, r, err)
				}
				if id := r.Record.Firm("a").ID; id <= max(last, high) {
					t.Errorf("%s has fence %d after %d", name, id, max(last, high))
				}
				last = r.Record.Top
			}
			takes("x", first(a.swapOf("x", ledger.Reply{}, ledger.Op{Want: 1, Turns: 64})))
			for range 3 {
				a.leaves("x")
				s.Client().Del(t.Context(), "lockgw:{x}") // as after a minute
				again := a.swapOf("x", ledger.Reply{}, ledger.Op{Want: 1, Turns: 64})
				again.Floor = high
				takes("x", again)
			}
		})
	}
}

// A gateway that comes to a server for the first time cannot know that it has forgotten. One
// that knows keeps the newcomer from granting there, and from ending the quarantine of all.
func TestTableQuarantineKeepsNewcomersOut(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a := openNode(t, s.URL(), "a", redis.GuardQuarantine)
	a.takes("x")
	s.RestartEmpty()
	a.hears("", ledger.Resync)
	began := time.Now()
	b := openNode(t, s.URL(), "b", redis.GuardQuarantine)
	for _, n := range []*node{b, a} {
		_, err := n.try("x", ledger.Op{Want: 1})
		wantLater(t, err)
	}
	within(t, "the quarantine is over", func() bool {
		r, err := b.try("x", ledger.Op{Want: 1})
		return err == nil && r.Written && r.Record.Firm("b") != nil
	})
	if d := time.Since(began); d < tableQuarantine/2 {
		t.Errorf("granted %v after the restart, want %v", d, tableQuarantine)
	}
}
