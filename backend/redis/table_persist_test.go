package redis_test

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// A write that Lengthens leaves a longer lease as it is: of the hold, of the lock that other
// programs see, and of the record.
func TestWriteThatLengthens(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a, rdb := openNode(t, s.URL(), "a", redis.GuardNone), s.Client()
	seen := a.does("x", ledger.Op{Want: 1, TTL: time.Hour})
	for _, tt := range []struct{ ttl, want time.Duration }{{time.Minute, time.Hour}, {2 * time.Hour, 2 * time.Hour}} {
		w := a.swapOf("x", seen, ledger.Op{Hold: seen.Record.Firm("a").ID, Keep: 1, Extend: true, TTL: tt.ttl})
		w.Effects.Lengthens = true
		var err error
		if seen, err = a.Swap(t.Context(), w); err != nil || !seen.Written {
			t.Fatalf("not written: %+v, %v", seen, err)
		}
		there := a.look("x")
		for what, left := range map[string]time.Duration{
			"the hold as told": seen.Record.Firm("a").End, "the hold": there.Record.Firm("a").End,
			"the lock": rdb.PTTL(t.Context(), "x").Val(), "the record": rdb.PTTL(t.Context(), "lockgw:{x}").Val() - time.Minute,
		} {
			if left < tt.want-time.Minute || left > tt.want {
				t.Errorf("ttl %v: %s goes in %v, want about %v", tt.ttl, what, left, tt.want)
			}
		}
	}
}

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
