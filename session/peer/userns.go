package peer

import (
	"bytes"
	"strconv"
	"sync"
)

// Where this process runs in a user namespace that has not all users (a container
// without root), the kernel shows all others as one number, the overflow uid, which is
// mostly that of the user nobody. Whoever has it there is nobody in particular.

// idMap is what the kernel has of one kind of ids in this process's user namespace.
type idMap struct {
	partial  bool
	overflow int
}

var (
	users  = sync.OnceValue(func() idMap { return readIDMap("uid") })
	groups = sync.OnceValue(func() idMap { return readIDMap("gid") })
)

// whole: the lines of the map (first id inside, outside, how many) leave no id out that
// somebody could have. -1 is nobody's.
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

// is: that id stands for nobody in particular.
func (m idMap) is(id int) bool { return m.partial && id == m.overflow }

// identified is uid, or -1 if that is nobody in particular.
func identified(uid int) int {
	if users().is(uid) {
		return -1
	}
	return uid
}

// NobodyGroup says whether the group gid of another process is none in particular.
func NobodyGroup(gid int) bool { return groups().is(gid) }

// NobodyUser says whether the user uid, of another process or of a file, is nobody in particular.
func NobodyUser(uid int) bool { return users().is(uid) }
