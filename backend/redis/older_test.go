package redis_test

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/session"
)

// A server that has an older copy of a record, as after it was restored, has leases in it that
// were renewed since. They are written anew: who holds goes on, and nobody else is granted the
// name when the lease of the copy is over.
func TestOlderLeaseIsWrittenAnew(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]session.Acquire{"exclusive": {}, "shared": {Shared: true}, "semaphore": {Limit: 1}} {
		for age, left := range map[string]time.Duration{"over": -time.Second, "not over": 10 * time.Second} {
			t.Run(name+", "+age, func(t *testing.T) {
				t.Parallel()
				s := redistest.Start(t)
				ms := gateways(t, s, 2, session.Config{TTL: 90 * time.Second})
				g, err := client(t, ms[0]).Acquire(t.Context(), "x", a)
				if err != nil {
					t.Fatal(err)
				}
				older(t, s, "x", left)
				rdb := s.Client()
				rdb.Do(t.Context(), "client", "kill", "type", "pubsub") // as a restart does
				within(t, "the lease is as long as its holder was told", func() bool { return rdb.PTTL(t.Context(), "x").Val() > time.Minute })
				if v, err := g.Lease.View(); err != nil || v.Fence != g.Lease.Fence() {
					t.Errorf("hold = %+v, %v", v, err)
				}
				other := session.Acquire{Limit: a.Limit}
				if _, err := client(t, ms[1]).Acquire(t.Context(), "x", other); err == nil {
					t.Error("another was granted the name")
				}
			})
		}
	}
}

var ends = regexp.MustCompile(` (\d{16}=)\d{13}`)

// older makes the lease of name end so long from now, as if it had not been renewed.
func older(t *testing.T, s *redistest.Server, name string, left time.Duration) {
	t.Helper()
	rdb, key := s.Client(), "lockgw:{"+name+"}"
	end := rdb.Time(t.Context()).Val().Add(left)
	text := rdb.Get(t.Context(), key).Val()
	changed := ends.ReplaceAllString(text, " ${1}"+strconv.FormatInt(end.UnixMilli(), 10))
	if changed == text {
		t.Fatalf("the record is %s", text)
	}
	if err := rdb.Set(t.Context(), key, changed, goredis.KeepTTL).Err(); err != nil {
		t.Fatal(err)
	}
	rdb.PExpireAt(t.Context(), name, end)
}
