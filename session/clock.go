package session

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Clock tells the time since the machine started, suspended time included. A
// deadline on it cannot be moved by anybody who sets the clock, and has passed
// when the machine wakes up after it; time.Now does not have the second property. It is
// above 0, which means "never" or "since ever" in this package.
type Clock func() time.Duration

// Boottime is CLOCK_BOOTTIME.
func Boottime() time.Duration {
	var ts unix.Timespec
	// Raw, because it never blocks and is asked several times for each answer.
	_, _, errno := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_BOOTTIME, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		panic("CLOCK_BOOTTIME: " + errno.Error()) // Linux has it since 2.6.39
	}
	return time.Duration(ts.Nano())
}

// margin is how much earlier than the store the gateway ends a lease: it covers
// clocks that run at different rates, by 1 % at most.
func margin(ttl time.Duration) time.Duration {
	return max(ttl/100, 50*time.Millisecond)
}
