package boottime

import "golang.org/x/sys/unix"

// clock is that of mach_continuous_time, which nobody can set.
const clock = unix.CLOCK_MONOTONIC_RAW
