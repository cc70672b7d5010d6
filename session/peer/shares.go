package peer

import (
	"errors"

	"golang.org/x/sys/unix"
)

// shares says how many file descriptors are for whom, as numbers of descriptors.
type shares struct {
	end     int // from this one on, they are for the store
	self    int // what the gateway itself has open
	clients int // all that clients have, administrators included
	common  int // of them, for clients that are no administrators
	unknown int // of those, for connections over the network that are not identified yet
	room    int // connections beyond these that may ask for /livez alone
}

const (
	// mostForStore is what no client may take: without them the gateway could not connect
	// to its store any more, and everybody would lose what they hold.
	mostForStore = 1024
	// mostForSelf is what listeners, files and idle connections to the store take.
	mostForSelf = 48
)

// maxShare is the most that one account has, however many descriptors there are: each
// costs memory, too.
const maxShare = 16_384

// sharesOf divides a limit on open descriptors (ulimit -n).
func sharesOf(limit uint64) shares {
	l := int(min(limit, 1<<30))
	end, self := l-min(mostForStore, l/4), min(mostForSelf, l/8)
	rest := end - self
	room := min(max(rest/16, 4), 64)
	common := max(rest-min(rest/8, 256)-room, 0)
	return shares{end: end, self: self, clients: rest - room, common: common, unknown: min(max(common/8, 4), 1024), room: room}
}

func descriptorLimit() (uint64, error) {
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	return unsigned(limit.Cur), err
}

// unsigned: the limit is signed on FreeBSD.
func unsigned[N int64 | uint64](n N) uint64 { return uint64(n) }

// exhausted tells whether accept or another call has failed because the process, or the
// machine, has no descriptor left.
func exhausted(err error) bool { return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) }

// Full tells whether accept has failed because the process, or the machine, has no room for
// one more connection: no descriptor, no memory, or no epoll watch (ENOSPC).
func Full(err error) bool {
	return exhausted(err) || errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.ENOSPC)
}
