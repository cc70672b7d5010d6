package access

import (
	"cmp"
	"fmt"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/lockgw/lockgw/session"
)

// Rate is how often one caller may ask for something that can be put off.
type Rate struct {
	PerSecond int // on average; 0: as often as it likes
	Burst     int // at once; 0: PerSecond
}

func (r Rate) burst() int { return cmp.Or(r.Burst, r.PerSecond) }

// maxBuckets bounds what is kept: callers beyond it share one.
const maxBuckets = 1 << 14

// buckets are what callers have left. A full bucket tells nothing, and is dropped when room is
// needed.
type buckets struct {
	mu    sync.Mutex // guards the fields below
	of    map[string]*rate.Limiter
	swept time.Time
}

// Spend counts a request of by, who is known by its token, certificate or user, or
// else by the session that it speaks for. session.CodeTooManyHolds, which is
// rate_limited, says when to ask again.
//
// Requests that start something are counted, and so are releases, see SpendBack. Renewals are
// not.
func (c *Control) Spend(by Caller, session string) error {
	p := c.policy.Load()
	if p.rate.PerSecond == 0 || p.administers(by) {
		return nil
	}
	return c.buckets.take(by.key(session), p.rate, time.Now())
}

// SpendBack is Spend for a release. The release of a lock that is held is counted but never
// refused, because others may wait for the lock.
func (c *Control) SpendBack(by Caller, session string, held bool) error {
	if err := c.Spend(by, session); err != nil && !held {
		return err
	}
	return nil
}

func (b *buckets) take(key string, limit Rate, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.limiterLocked(key, limit, now)
	if l.AllowN(now, 1) {
		return nil
	}
	wait := time.Duration((1 - l.TokensAt(now)) / float64(l.Limit()) * float64(time.Second))
	return &session.Error{
		Code: session.CodeTooManyHolds, RetryAfter: max(wait, time.Millisecond),
		Detail: fmt.Sprintf("more than %d requests a second (limits.requests_per_second)", limit.PerSecond),
	}
}

func (b *buckets) limiterLocked(key string, limit Rate, now time.Time) *rate.Limiter {
	if b.of == nil {
		b.of = map[string]*rate.Limiter{}
	}
	if b.of[key] == nil && len(b.of) >= maxBuckets {
		b.sweepLocked(now)
		if len(b.of) >= maxBuckets {
			key = "" // the one that is shared
		}
	}
	l := b.of[key]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(limit.PerSecond), limit.burst())
		b.of[key] = l
	}
	if l.Limit() != rate.Limit(limit.PerSecond) || l.Burst() != limit.burst() { // after a reload
		l.SetLimitAt(now, rate.Limit(limit.PerSecond))
		l.SetBurstAt(now, limit.burst())
	}
	return l
}

// sweepLocked costs a look at each, and is therefore done once a second at most.
func (b *buckets) sweepLocked(now time.Time) {
	if now.Sub(b.swept) < time.Second {
		return
	}
	b.swept = now
	for key, l := range b.of {
		if l.TokensAt(now) >= float64(l.Burst()) {
			delete(b.of, key)
		}
	}
}

// Account is the name under which everything of by is counted, if it comes over the network.
func (by Caller) Account() string {
	switch {
	case by.token != "":
		return "token " + by.token
	case len(by.certs) > 0:
		return "cert " + by.certs[0]
	default:
		return "admin token"
	}
}

// key is the name under which the requests of by are counted.
func (by Caller) key(session string) string {
	if user := by.user(); user != "" {
		return user
	}
	return "session:" + session
}

// user is by in the words of the rules; "" if it is not known who by is.
func (by Caller) user() string {
	switch {
	case by.token != "":
		return "token:" + by.token
	case len(by.certs) > 0:
		return "cert:" + by.certs[0]
	case by.via == viaUnix && by.peer.UID >= 0:
		return "user:" + strconv.Itoa(by.peer.UID)
	default:
		return ""
	}
}
