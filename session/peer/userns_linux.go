package peer

import (
	"os"
	"strconv"
	"strings"
)

// readIDMap reads an id map. One that cannot be read counts as incomplete, so that no user is
// taken for another.
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
