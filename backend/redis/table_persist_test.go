package redis_test

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// What takes the expiry of a key away, as PERSIST and copies of a database do, leaves no lock that
// outlives its holder for ever: the next renewal gives it another one, which is not before the end
// of any hold.
func TestRenewalsGiveTheExpiryBack(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, b := openNode(t, s.URL(), "a", redis.GuardNone), openNode(t, s.URL(), "b", redis.GuardNone)
	shared := ledger.Op{Want: 1, Mode: backend.Shared}
	ours, theirs := a.does("x", shared).Record, b.does("x", shared).Record
	renews := func(n *node, id backend.Fence, ttl time.Duration) {
		t.Helper()
		if errs, err := n.Renew(t.Context(), []ledger.Renewal{{Name: "x", ID: id, TTL: ttl}}); err != nil || errs[0] != nil {
			t.Fatal(errs, err)
		}
	}
	renews(b, theirs.Firm("b").ID, time.Hour)
	rdb := s.Client()
	for _, key := range []string{"x", "lockgw:{x}"} {
		if !rdb.Persist(t.Context(), key).Val() {
			t.Fatal(key, " had no expiry")
		}
	}
	ends := func(key string, least time.Duration) {
		t.Helper()
		if left := rdb.PTTL(t.Context(), key).Val(); left < least-time.Minute || left > least+3*time.Minute {
			t.Errorf("after the renewal %s goes in %v, want about %v", key, left, least)
		}
	}
	renews(a, ours.Firm("a").ID, 2*time.Minute)
	ends("x", time.Hour)
	renews(a, ours.Firm("a").ID, 2*time.Hour)
	ends("x", 2*time.Hour)
	ends("lockgw:{x}", 2*time.Hour)
}
