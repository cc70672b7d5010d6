package redis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/session"
)

// A replica takes over that has not heard of the newest grant: its holder goes on with
// the same fence, nobody else gets the name, and the next fence is larger.
func TestQuarantineAfterFailover(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, 1)
	ms := guardedGateways(t, w, 2, session.Config{TTL: 9 * time.Second})
	holder, other := client(t, ms[0]), client(t, ms[1])
	if _, err := holder.Acquire(t.Context(), "known", session.Acquire{}); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); w.Replica.Client().Exists(t.Context(), "known").Val() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the replica does not follow")
		}
	}
	redistest.CutOff(t, w.Master, w.Replica)
	g, err := holder.Acquire(t.Context(), "lost", session.Acquire{})
	w.Master.Kill()
	w.Replica.Resume()
	if err != nil {
		t.Fatal(err)
	}
	w.AwaitMaster(w.Replica)
	fence := g.Lease.Fence()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err := other.Acquire(t.Context(), "lost", session.Acquire{}); err == nil {
			t.Fatal("another was granted the lock that the new master did not know of")
		}
		st, err := ms[1].Inspect(t.Context(), "lost")
		if err == nil && st.State == session.StateHeld && st.Fence == fence {
			break
		}
		if time.Since(began) > 15*time.Second {
			t.Fatalf("the store says %+v, %v, want the holder with fence %d", st, err, fence)
		}
	}
	if v, err := g.Lease.View(); err != nil || v.Fence != fence {
		t.Errorf("hold = %+v, %v, want fence %d as before", v, err, fence)
	}
	for _, name := range []string{"lost", "known"} {
		if _, err := holder.Release(t.Context(), name, 1, false, ""); err != nil {
			t.Errorf("release %s: %v", name, err)
		}
		next, err := other.Acquire(t.Context(), name, session.Acquire{Wait: 10 * time.Second})
		if err != nil || next.Lease.Fence() <= fence {
			t.Errorf("acquire %s after its release: %v, want a fence above %d", name, err, fence)
		}
	}
}

// A server leads, follows another one, which is trusted by then, and leads again. It is
// the same run of the same server, and has missed what the other one granted meanwhile.
func TestQuarantineAfterFailback(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, 1)
	a, b := guarded(t, w, "a", redis.GuardQuarantine, ""), guarded(t, w, "b", redis.GuardQuarantine, "")
	a.Listen(func(backend.Hint) {})
	awaitReady(t, a) // b does not listen: it learns of a server by the answers of scripts alone
	var seq uint64
	granted := func(b *redis.Backend, name string) bool {
		seq++
		got, err := b.Acquire(t.Context(), ask(name, seq))
		return err == nil && got.Granted
	}
	within(t, "the first master grants", func() bool { return granted(a, "a-1") && granted(b, "b-1") })
	w.SwitchTo(w.Master, w.Replica)
	within(t, "the second master is trusted", func() bool { return granted(a, "a-2") && granted(b, "b-2") })

	redistest.CutOff(t, w.Replica, w.Master)
	within(t, "the second master grants", func() bool { return granted(a, "x") })
	w.Replica.Kill()
	w.Master.Resume()
	w.AwaitMaster(w.Master)
	wantQuarantineOf(t, b, "x")
}

// wantQuarantineOf waits until b is granted name, which a quarantine has to keep from it
// at first. How long one lasts is tested elsewhere.
func wantQuarantineOf(t *testing.T, b *redis.Backend, name string) {
	t.Helper()
	refused := false
	for seq, limit := uint64(1000), time.Now().Add(30*time.Second); ; seq++ {
		got, err := b.Acquire(t.Context(), ask(name, seq))
		switch {
		case err == nil && got.Granted && !refused:
			t.Fatal("granted at once, want a quarantine first")
		case err == nil && got.Granted:
			return
		case err != nil && strings.Contains(err.Error(), "backend.redis.guard"):
			refused = true
		case time.Now().After(limit):
			t.Fatalf("acquire = %+v, %v, want granted after a quarantine", got, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// That a server writes each change to its disk before it answers proves nothing: the disk
// may have been lost, or an older copy of it put in its place.
func TestQuarantineWhateverIsOnDisk(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		restart func(*redistest.Server)
	}{{"empty", (*redistest.Server).RestartEmpty}, {"as before", (*redistest.Server).Restart}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
			b := alone(t, s, "b", "")
			if got, err := alone(t, s, "a", "").Acquire(t.Context(), ask("x", 1)); err != nil || !got.Granted {
				t.Fatalf("acquire = %+v, %v, want granted", got, err)
			}
			tt.restart(s)
			awaitReady(t, b)
			wantQuarantineOf(t, b, "y")
		})
	}
}

// A master begins a new replication for its first replica, and has forgotten nothing.
func TestNoQuarantineForANewReplica(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	b := alone(t, s, "b", "")
	if got, err := b.Acquire(t.Context(), ask("x", 1)); err != nil || !got.Granted {
		t.Fatalf("acquire = %+v, %v, want granted", got, err)
	}
	id := func() string {
		_, id, _ := strings.Cut(s.Client().Info(t.Context(), "replication").Val(), "master_replid:")
		id, _, _ = strings.Cut(id, "\r\n")
		return id
	}
	before := id()
	redistest.Start(t, "--replicaof", strings.ReplaceAll(s.Addr, ":", " "))
	within(t, "the replication is another", func() bool { return id() != before })
	if got, err := b.Acquire(t.Context(), ask("y", 2)); err != nil || !got.Granted {
		t.Errorf("acquire = %+v, %v, want granted at once", got, err)
	}
	if err := b.Ping(t.Context()); err != nil {
		t.Errorf("ping: %v", err)
	}
}
