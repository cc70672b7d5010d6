package redis_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// openKeeping is a node that makes Redisson's fence counters and keeps them for so long.
func openKeeping(t testing.TB, url, id string, fenceTTL time.Duration) *node {
	t.Helper()
	table, err := redis.OpenTable(redis.Config{
		URL: redistest.Patient(url), Node: backend.Node{ID: id}, Guard: redis.GuardNone, Lease: tableQuarantine, FenceTTL: fenceTTL,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	n := &node{Table: table, t: t, id: id, told: make(chan ledger.Addressed, 1000)}
	n.Listen(func(m ledger.Addressed) { n.told <- m })
	n.hears("", ledger.Resync)
	return n
}

// A counter that Java has made has no end, and gets none: Redisson would count from 1 again.
func TestTableCounterOfJavaGetsNoEnd(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	n := openKeeping(t, s.URL(), "n", time.Hour)
	rdb.Set(t.Context(), "redisson_lock_token:{java}", 5, 0)
	for name, endless := range map[string]bool{"java": true, "ours": false} {
		counter := "redisson_lock_token:{" + name + "}"
		for range 2 {
			id := n.takes(name).ID
			if got, err := rdb.Get(t.Context(), counter).Uint64(); err != nil || got < uint64(id) {
				t.Errorf("%s is %d, %v while fence %d is held", counter, got, err, id)
			}
			if left := rdb.PTTL(t.Context(), counter).Val(); (left == -1) != endless || !endless && left < 50*time.Minute {
				t.Errorf("%s ends in %v", counter, left)
			}
			n.leaves(name)
		}
	}
}

// A counter that is kept outlives the last use by all of its time, however long that was: so a
// lease counts, and so does each renewal.
func TestTableCounterOutlivesTheHold(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	n := openKeeping(t, s.URL(), "n", time.Minute)
	rdb.Set(t.Context(), "redisson_lock_token:{java}", 5, 0)
	names := []string{"java", "x", "y"}
	var renewals []ledger.Renewal
	for _, name := range names {
		renewals = append(renewals, ledger.Renewal{Name: name, ID: n.takes(name).ID, TTL: time.Hour})
	}
	outlives := func(what string, names []string, least time.Duration) {
		t.Helper()
		for _, name := range names {
			lock := rdb.PTTL(t.Context(), name).Val()
			left := rdb.PTTL(t.Context(), "redisson_lock_token:{"+name+"}").Val()
			if endless := name == "java"; endless != (left == -1) || !endless && left < lock+50*time.Second || lock < least {
				t.Errorf("%s the lock %s ends in %v and its counter in %v", what, name, lock, left)
			}
		}
	}
	outlives("once it is held", names, 10*time.Second)
	for _, group := range [][]ledger.Renewal{renewals[:2], renewals[2:]} {
		if errs, err := n.Renew(t.Context(), group); err != nil || slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
			t.Fatal(errs, err)
		}
	}
	outlives("once it is renewed", names, 50*time.Minute)
	rdb.Del(t.Context(), "redisson_lock_token:{x}") // as it was before fence_ttl was set
	if errs, err := n.Renew(t.Context(), renewals); err != nil || errs[1] != nil {
		t.Errorf("renewal without a counter: %v, %v", errs, err)
	}
}
