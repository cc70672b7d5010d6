package peer

import (
	"bytes"
	"strconv"
	"sync"
)

// If this process runs in a user namespace that lacks some users (a container without
// root), the kernel shows all of these as one number, the overflow uid, which is mostly the
// uid of nobody. That number identifies no user there.

// idMap is what the kernel has of one kind of ids in this process's user namespace.
type idMap struct {
	partial  bool
	overflow int
}

var (
	users  = sync.OnceValue(func() idMap { return readIDMap("uid") })
	groups = sync.OnceValue(func() idMap { return readIDMap("gid") })
)

// whole tells whether the lines of the map (first id inside, outside, how many) contain every
// id that a user can have. -1 is not one.
func whole(idMap []byte) bool {
	var mapped uint64
	for line := range bytes.Lines(idMap) {
		f := bytes.Fields(line)
		if len(f) != 3 {
			return false
		}
		n, err := strconv.ParseUint(string(f[2]), 10, 32)
		if err != nil {
			return false
		}
		mapped += n
	}
	return mapped >= 1<<32-1
}

// is tells whether that id stands for many users.
func (m idMap) is(id int) bool { return m.partial && id == m.overflow }

// identified is uid, or -1 if uid stands for many users.
func identified(uid int) int {
	if users().is(uid) {
		return -1
	}
	return uid
}
