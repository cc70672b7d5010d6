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

// After a restart of the gateway a hold goes on, whether or not there is a replica: it
// was told long ago. It was once taken back from its holder, who was told of that only
// after another could have been granted the name.
func TestGuardWaitKeepsWhatIsReclaimed(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	held, err := guarded(t, s, "a", redis.GuardNone, "").Acquire(t.Context(), ask("x", 1))
	if err != nil || !held.Granted {
		t.Fatalf("acquire = %+v, %v, want granted", held, err)
	}
	next, err := redis.Open(t.Context(), redis.Config{
		URL: s.URL(), FenceTTL: time.Hour, Guard: redis.GuardWait, Node: backend.Node{ID: "a", Incarnation: 2},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = next.Close() })
	r := ask("x", 1)
	r.Hold, r.Turn = held.Hold, held.Hold
	if got, err := next.Reclaim(t.Context(), r); err != nil || !got.Granted {
		t.Errorf("reclaim = %+v, %v, want granted", got, err)
	}
	if st, err := next.Inspect(t.Context(), "x"); err != nil || st.Hold != held.Hold {
		t.Errorf("the store says %+v, %v, want hold %d as before", st, err, held.Hold)
	}
}

// A shared hold that is written down again leaves nothing behind when it runs out.
func TestForgottenShareExpires(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	b := alone(t, s, "a", "")
	r := ask("x", 1)
	r.Mode = backend.Shared
	held, err := b.Acquire(t.Context(), r)
	if err != nil || !held.Granted {
		t.Fatalf("acquire = %+v, %v, want granted", held, err)
	}
	s.Restart()
	awaitReady(t, b)
	r.Seq, r.Hold, r.Turn, r.Floor = 2, held.Hold, held.Hold, held.Hold
	if got, err := b.Reclaim(t.Context(), r); err != nil || !got.Granted {
		t.Fatalf("reclaim = %+v, %v, want granted", got, err)
	}
	keys := s.Client().Keys(t.Context(), "*").Val()
	if len(keys) < 3 {
		t.Fatalf("keys = %q, want the lock and what belongs to it", keys)
	}
	for _, key := range keys {
		if left := s.Client().PTTL(t.Context(), key).Val(); left < 0 && !strings.HasPrefix(key, "lockgw:guard:") {
			t.Errorf("%s stays for ever", key)
		}
	}
}

// A fixed lease that is written down again ends for the store after it has ended for its
// holder, by the margin that is for clocks which do not run alike.
func TestForgottenFixedLeaseKeepsItsMargin(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	m := guardedGateways(t, s, 1, session.Config{})[0]
	const ttl = 20 * time.Second
	g, err := client(t, m).Acquire(t.Context(), "x", session.Acquire{TTL: ttl, Fixed: true})
	if err != nil {
		t.Fatal(err)
	}
	before, _ := g.Lease.View()
	s.Restart()
	for began := time.Now(); s.Client().Exists(t.Context(), "x").Val() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatal("the hold was not written down again")
		}
	}
	left := s.Client().PTTL(t.Context(), "x").Val()
	if end := session.Boottime() + left; end < before.Deadline+ttl/200 || end > before.Deadline+ttl/10 {
		t.Errorf("ends %v after its deadline, want about %v", end-before.Deadline, ttl/100)
	}
	if after, err := g.Lease.View(); err != nil || after.Deadline != before.Deadline {
		t.Errorf("deadline moved by %v, %v", after.Deadline-before.Deadline, err)
	}
}
