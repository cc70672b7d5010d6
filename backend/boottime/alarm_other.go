//go:build !linux

package boottime

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the clock that goes on while the machine sleeps, where the system has one.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(clock, &ts); err != nil {
		panic("clock of the deadlines: " + err.Error()) // every version that Go runs on has it
	}
	return time.Duration(ts.Nano())
}

// New makes an Alarm on Now, which is not set.
func New() (*Alarm, error) { return NewTimer(Now), nil }
