package config

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/lockgw/lockgw/backend/redlock"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/session"
)

// fitDefaults has the defaults of leases follow the limits that somebody has set: a limit alone
// contradicts nothing that anybody has asked for.
func (s *Settings) fitDefaults() {
	fit := func(key string, d *time.Duration, least, most time.Duration) {
		if fitted := max(min(*d, most), least); fitted != *d && !s.Given(key) {
			*d, s.Origins[key] = fitted, originFitted
		}
	}
	l := &s.Limits
	fit("limits.min_ttl", &l.MinTTL, 0, l.MaxTTL)
	fit("limits.max_ttl", &l.MaxTTL, l.MinTTL, l.MaxTTL)
	fit("lock.ttl", &s.Lock.TTL, l.MinTTL, min(l.MaxTTL, s.Backend.longestLease()))
	fit("session.keepalive", &s.Session.Keepalive, 0, l.MaxTTL)
}

// longestLease is what the store itself allows.
func (b Backend) longestLease() time.Duration {
	if strings.HasPrefix(b.URL, "redlock://") {
		if _, longest, err := redlock.Servers(b.URL); err == nil {
			return longest
		}
	}
	return math.MaxInt64
}

// checkKeepalive refuses one that no request may ask for: a session that asks for no other has it.
func (s Settings) checkKeepalive() error {
	if s.Session.Keepalive > s.Limits.MaxTTL {
		return fmt.Errorf("%s is longer than limits.max_ttl, which is %s (%s)",
			cli.Duration(s.Session.Keepalive), cli.Duration(s.Limits.MaxTTL), s.Origins["limits.max_ttl"])
	}
	return nil
}

// checkMinTTL refuses leases that would be over as they begin, so that nothing could be held.
func (s Settings) checkMinTTL() error {
	if ttl := s.Limits.MinTTL; ttl <= session.Margin(ttl) {
		return fmt.Errorf("%s is too short: a lease ends %s earlier here than in the store, and has to be longer than that", cli.Duration(ttl), cli.Duration(session.Margin(ttl)))
	}
	return nil
}

func (s Settings) checkTTLRange() error {
	if s.Limits.MinTTL > s.Limits.MaxTTL {
		return fmt.Errorf("%s is shorter than limits.min_ttl, which is %s (%s)",
			cli.Duration(s.Limits.MaxTTL), cli.Duration(s.Limits.MinTTL), s.Origins["limits.min_ttl"])
	}
	return nil
}

func (s Settings) checkTTL() error {
	if longest := s.Backend.longestLease(); s.Lock.TTL > longest {
		return fmt.Errorf("%s is longer than max_ttl of backend.url, which is %s", cli.Duration(s.Lock.TTL), cli.Duration(longest))
	}
	if s.Lock.TTL < s.Limits.MinTTL || s.Lock.TTL > s.Limits.MaxTTL {
		return fmt.Errorf("%s is not between limits.min_ttl %s (%s) and limits.max_ttl %s (%s)", cli.Duration(s.Lock.TTL),
			cli.Duration(s.Limits.MinTTL), s.Origins["limits.min_ttl"], cli.Duration(s.Limits.MaxTTL), s.Origins["limits.max_ttl"])
	}
	return nil
}
