package peer

import (
	"os"
	"strconv"
	"strings"
)

// readIDMap: what cannot be read is taken for a part, so that nobody is taken for
// somebody else.
func readIDMap(kind string) idMap {
	m := idMap{partial: true, overflow: 65534}
	if b, err := os.ReadFile("/proc/self/" + kind + "_map"); err == nil {
		m.partial = !whole(b)
	}
	if b, err := os.ReadFile("/proc/sys/kernel/overflow" + kind); err == nil {
		if id, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			m.overflow = id
		}
	}
	return m
}
