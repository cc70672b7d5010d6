package redis_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/examine"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// drain forgets what n was told so far.
func (n *node) drain() {
	for len(n.told) > 0 {
		<-n.told
	}
}

// renews returns nil once n has the lease of h renewed.
func (n *node) renews(name string, h *ledger.Hold) error {
	errs, err := n.Renew(n.t.Context(), []ledger.Renewal{{Name: name, ID: h.ID, TTL: time.Minute}})
	return errors.Join(append(errs, err)...)
}

// A hold, and who waits for it, outlast the master on which they were written.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, 1)
	a, b := openNode(t, w.URL(), "a", redis.GuardNone), openNode(t, w.URL(), "b", redis.GuardNone)
	r := a.does("held", ledger.Op{Want: 1, TTL: time.Minute})
	h := r.Record.Firm("a")
	b.does("held", ledger.Op{Want: 1})
	redistest.Stop(t, w.Master, w.Replica)
	w.AwaitMaster(w.Replica)
	within(t, "the holder can renew", func() bool { return a.renews("held", h) == nil })
	within(t, "who waits listens to the new master", func() bool { return b.Ping(t.Context()) == nil })
	a.leaves("held")
	b.hears("held", ledger.Look)
	if next := b.takes("held"); next.ID <= h.ID {
		t.Errorf("fence %d after %d, want a larger one", next.ID, h.ID)
	}
}

// Sentinels that hang, those that were asked last, are passed over.
func TestSentinelHangs(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, 3)
	a := openImpatient(t, w.URL(), "a", redis.GuardNone)
	h := a.takes("x")
	if err := a.renews("x", h); err != nil { // on connections of its own
		t.Fatalf("renew: %v", err)
	}
	hung := 0
	for _, s := range w.Sentinels {
		if clients(t, s) > 0 {
			s.Pause()
			t.Cleanup(s.Resume)
			hung++
		}
	}
	if hung == 0 || hung == len(w.Sentinels) {
		t.Fatalf("%d of %d Sentinels were asked, want some", hung, len(w.Sentinels))
	}
	a.drain()
	for _, kind := range []string{"normal", "pubsub"} {
		w.Master.Client().ClientKillByFilter(t.Context(), "TYPE", kind)
	}
	a.hears("", ledger.Resync)
	within(t, "the master is found again", func() bool { return a.Ping(t.Context()) == nil && a.renews("x", h) == nil })
}

// clients that call themselves lockgw.
func clients(t *testing.T, s *redistest.Server) int {
	t.Helper()
	list, err := s.Client().ClientList(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(list, "name=lockgw ")
}

// A master of a name that no Sentinel knows is a clear error, and not an answer.
func TestSentinelUnknownMaster(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, 1)
	table := openTable(t, w.URL()+"-of-nobody", "n", redis.GuardNone)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := table.Ping(ctx); !errors.Is(err, backend.ErrUnreachable) || !strings.Contains(err.Error(), "no master of that name") {
		t.Errorf("ping: err = %v, want %v that says why", err, backend.ErrUnreachable)
	}
	if _, err := table.Look(ctx, "x"); !errors.Is(err, backend.ErrUnreachable) {
		t.Errorf("look: err = %v, want %v", err, backend.ErrUnreachable)
	}
}

func TestSentinelDoctor(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, 1)
	found := func() map[string]examine.Finding {
		all := map[string]examine.Finding{}
		for _, f := range examine.Servers(t.Context(), redis.Config{URL: w.URL()}) {
			all[f.Check] = f
		}
		return all
	}
	want := func(all map[string]examine.Finding, check string, level examine.Level, text string) {
		t.Helper()
		if f := all[check]; f.Level != level || !strings.Contains(f.Detail+" "+f.Remedy, text) {
			t.Errorf("%s = %+v, want %s with %q", check, f, level, text)
		}
	}
	all := found()
	want(all, "sentinel", examine.Warn, "three or more")
	want(all, "min-replicas-to-write", examine.Warn, "CONFIG SET min-replicas-to-write 1")
	want(all, "min-replicas-max-lag", examine.Warn, "down-after-milliseconds of the Sentinels 1500")
	want(all, "locks", examine.OK, "")
	for _, setting := range []string{"min-replicas-to-write 1", "min-replicas-max-lag 1"} {
		name, value, _ := strings.Cut(setting, " ")
		if err := w.Master.Client().ConfigSet(t.Context(), name, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Sentinels[0].Client().Do(t.Context(), "sentinel", "set", redistest.MasterName, "down-after-milliseconds", "2000").Err(); err != nil {
		t.Fatal(err)
	}
	all = found()
	want(all, "min-replicas-to-write", examine.OK, "1")
	want(all, "min-replicas-max-lag", examine.OK, "2000")
}
