package boottime

import "golang.org/x/sys/unix"

// clock stands still while the machine sleeps in some versions of FreeBSD. A gateway
// there learns after that, by its next renewal, that a lease is over.
const clock = unix.CLOCK_MONOTONIC
