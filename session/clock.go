package session

import (
	"time"

	"github.com/lockgw/lockgw/backend/boottime"
)

// Clock tells the time since the machine started, suspended time included. A
// deadline on it cannot be moved by anybody who sets the clock, and has passed
// when the machine wakes up after it; time.Now does not have the second property. It is
// above 0, which means "never" or "since ever" in this package.
type Clock func() time.Duration

// Boottime is CLOCK_BOOTTIME.
func Boottime() time.Duration { return boottime.Now() }

// alarm is one on the clock. The kernel has a timer for its own.
func (c *Config) alarm() *boottime.Alarm {
	if c.kernels {
		a, err := boottime.New()
		if err == nil {
			return a
		}
		c.Log.Warn("no timer of the kernel is left; after a sleep of the machine, losses are told up to a second late", "err", err)
	}
	return boottime.NewTimer(c.Clock)
}

// Margin is how much earlier than the store the gateway ends a lease: it covers
// clocks that run at different rates, by 1 % at most.
func Margin(ttl time.Duration) time.Duration {
	return max(ttl/100, 50*time.Millisecond)
}
