package access

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

func TestBuckets(t *testing.T) {
	var b buckets
	now := time.Unix(1000, 0)
	limit := Rate{PerSecond: 10, Burst: 3}
	for i := range 3 {
		if err := b.take("a", limit, now); err != nil {
			t.Fatalf("request %d: %v, want it within the burst", i+1, err)
		}
	}
	var e *session.Error
	if err := b.take("a", limit, now); !errors.As(err, &e) || e.Code != session.CodeTooManyHolds || e.RetryAfter != 100*time.Millisecond {
		t.Errorf("the fourth: %v, want rate_limited and 100ms", err)
	}
	if err := b.take("b", limit, now); err != nil {
		t.Errorf("another caller: %v, want nil", err)
	}
	if err := b.take("a", limit, now.Add(e.RetryAfter)); err != nil {
		t.Errorf("when it was told to: %v, want nil", err)
	}
	raised := Rate{PerSecond: 1000}
	_ = b.take("a", raised, now.Add(110*time.Millisecond))
	if err := b.take("a", raised, now.Add(115*time.Millisecond)); err != nil {
		t.Errorf("after the limit was raised: %v, want nil", err)
	}
}

// However many callers there are, what is kept of them is bounded, and one who has
// spent all does not get more by the others.
func TestBucketsAreBounded(t *testing.T) {
	var b buckets
	now := time.Unix(1000, 0)
	limit := Rate{PerSecond: 1, Burst: 1}
	for i := range maxBuckets + 100 {
		_ = b.take(fmt.Sprint(i), limit, now)
	}
	if len(b.of) > maxBuckets+1 {
		t.Errorf("%d buckets, want at most %d", len(b.of), maxBuckets+1)
	}
	if err := b.take("5", limit, now); err == nil {
		t.Error("one who has spent all was let in")
	}
	_ = b.take("later", limit, now.Add(time.Minute))
	if len(b.of) > 2 {
		t.Errorf("%d buckets after all were full again, want that of later", len(b.of))
	}
}

func TestSpend(t *testing.T) {
	c := newControl(t, Config{Rate: Rate{PerSecond: 1, Burst: 1}})
	admin, _ := c.Show(Caller{}, adminToken)
	for range 10 {
		if err := c.Spend(admin, ""); err != nil {
			t.Errorf("an administrator: %v, want no limit", err)
		}
	}
	keys := map[string]bool{}
	for _, by := range []Caller{{token: "a"}, {token: "b"}, {certs: []string{"a"}}, unixCaller(1), unixCaller(2)} {
		keys[by.key("s")] = true
	}
	keys[Caller{}.key("s")], keys[Caller{}.key("")] = true, true
	if len(keys) != 7 {
		t.Errorf("keys = %v, want 7 callers", keys)
	}
}

// A lock that is held is given back however often its holder has asked.
func TestReleasesOfWhatIsHeldAreNotRefused(t *testing.T) {
	c := newControl(t, Config{Rate: Rate{PerSecond: 1, Burst: 1}})
	by := unixCaller(1)
	for range 3 {
		if err := c.SpendBack(by, "", true); err != nil {
			t.Errorf("the release of a lock that is held: %v", err)
		}
	}
	if err := c.SpendBack(by, "", false); err == nil {
		t.Error("what is not held may be released as often as one likes")
	}
}
