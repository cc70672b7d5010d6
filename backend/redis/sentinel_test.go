package redis_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/backendtest"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/examine"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// openAt opens a node of a store and waits until it is ready.
func openAt(t *testing.T, url string, n backend.Node) (*redis.Backend, chan backend.Hint) {
	t.Helper()
	b, err := redis.Open(t.Context(), redis.Config{URL: url, FenceTTL: time.Hour, Node: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	hints := make(chan backend.Hint, 1000)
	b.Listen(func(h backend.Hint) { hints <- h })
	within(t, "the store is ready", func() bool { return b.Ping(t.Context()) == nil })
	return b, hints
}

// within waits for what has to come, at most 20 s.
func within(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20s: %s", what)
		}
	}
}

// The suite runs over a master that Sentinels watch, which is killed in the middle.
// Tests of the suite measure time, so none of them is under way then; a hold that is
// taken before, and its queue, outlast it.
func TestSentinelBackendWithFailover(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, 1)
	holder, _ := openAt(t, w.URL(), backend.Node{ID: "holder", Incarnation: 1})
	waiter, hints := openAt(t, w.URL(), backend.Node{ID: "waiter", Incarnation: 1})
	r := request("held", 1)
	r.TTL = time.Minute
	held, err := holder.Acquire(t.Context(), r)
	if err != nil || !held.Granted {
		t.Fatalf("acquire = %+v, %v, want granted", held, err)
	}
	if a, err := waiter.Acquire(t.Context(), request("held", 1)); err != nil || !a.Queued {
		t.Fatalf("acquire = %+v, %v, want queued", a, err)
	}

	var m marks
	var failover sync.RWMutex
	var tests atomic.Int32
	t.Run("suite", func(suite *testing.T) {
		backendtest.Run(suite, func(t *testing.T) backendtest.Store {
			if t == suite { // it asks what the store can do
				return shared(w.URL(), "-suite")
			}
			if tests.Add(1) == 25 {
				failTo(t, w, &failover)
			}
			failover.RLock()
			t.Cleanup(failover.RUnlock)
			return shared(w.URL(), m.take(t))
		})
	})
	if tests.Load() <= 25 {
		t.Fatalf("the suite has %d tests, want more than come before the failover", tests.Load())
	}

	within(t, "the holder can renew", func() bool {
		errs, err := holder.Renew(t.Context(), []backend.Renewal{{Name: "held", Hold: held.Hold, TTL: time.Minute}})
		return err == nil && errs[0] == nil
	})
	within(t, "the waiter listens to the new master", func() bool { return waiter.Ping(t.Context()) == nil })
	if _, err := holder.Release(t.Context(), backend.Request{Name: "held", Seq: 2, Attempt: 1, Hold: held.Hold, Turn: held.Hold}); err != nil {
		t.Fatalf("release: %v", err)
	}
	granted := wantHint(t, hints, backend.HintGranted)
	if granted.Fence <= held.Hold {
		t.Errorf("fence %d after %d, want a larger one", granted.Fence, held.Hold)
	}
}

// failTo kills the master while nobody else is at work, and waits for the next.
func failTo(t *testing.T, w *redistest.Watched, others sync.Locker) {
	others.Lock()
	defer others.Unlock()
	redistest.Stop(t, w.Master, w.Replica)
	w.AwaitMaster(w.Replica)
}

// wantHint returns the next hint of a kind.
func wantHint(t *testing.T, hints chan backend.Hint, kind backend.HintKind) backend.Hint {
	t.Helper()
	timeout := time.After(10 * time.Second)
	for {
		select {
		case h := <-hints:
			if h.Kind == kind {
				return h
			}
		case <-timeout:
			t.Fatalf("no hint of kind %d in 10s", kind)
		}
	}
}

// Sentinels that hang, those that were asked last, are passed over.
func TestSentinelHangs(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, 3)
	b, hints := openAt(t, w.URL(), backend.Node{ID: "n", Incarnation: 1})
	a, err := b.Acquire(t.Context(), request("x", 1))
	if err != nil || !a.Granted {
		t.Fatalf("acquire = %+v, %v, want granted", a, err)
	}
	renew := func() error {
		errs, err := b.Renew(t.Context(), []backend.Renewal{{Name: "x", Hold: a.Hold, TTL: time.Minute}})
		return errors.Join(append(errs, err)...)
	}
	if err := renew(); err != nil { // on connections of its own
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
	drain(hints)
	for _, kind := range []string{"normal", "pubsub"} {
		w.Master.Client().ClientKillByFilter(t.Context(), "TYPE", kind)
	}
	wantHint(t, hints, backend.HintResync)
	within(t, "the master is found again", func() bool { return b.Ping(t.Context()) == nil && renew() == nil })
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
	url := w.URL() + "-of-nobody"
	b, err := redis.Open(t.Context(), redis.Config{URL: url, Node: backend.Node{ID: "n", Incarnation: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := b.Ping(ctx); !errors.Is(err, backend.ErrUnreachable) || !strings.Contains(err.Error(), "no master of that name") {
		t.Errorf("ping: err = %v, want %v that says why", err, backend.ErrUnreachable)
	}
	if _, err := b.Acquire(ctx, request("x", 1)); !errors.Is(err, backend.ErrUnreachable) {
		t.Errorf("acquire: err = %v, want %v", err, backend.ErrUnreachable)
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
