package redis

import (
	"strconv"
	"strings"
	"sync"

	"github.com/lockgw/lockgw/backend/redis/conn"
	"github.com/lockgw/lockgw/backend/redis/servers"
)

// recordKey is where the record of a name is, of which raw is the configured prefix and
// the name. No name begins with lockgw:.
func recordKey(raw string) string {
	before, after := recordAround(raw)
	return before + raw + after
}

// recordAround is what stands before and behind raw in recordKey.
func recordAround(raw string) (before, after string) {
	if bringsTag(raw) {
		return "lockgw:lockgw:", ""
	}
	return "lockgw:{", "}"
}

// recordPattern matches the keys of all records, and some others.
const recordPattern = "lockgw:*"

// rawOfRecord is the opposite of recordKey; false: key is no such.
func rawOfRecord(key string) (string, bool) {
	if raw, ok := strings.CutPrefix(key, "lockgw:lockgw:"); ok {
		return raw, true
	}
	raw, ok := strings.CutPrefix(key, "lockgw:{")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(raw, "}")
}

// markOfServer is the mark of a server without Cluster.
const markOfServer = "lockgw:mark:{0}"

// markKey is where the mark of the slot of raw is; see record.lua.
func (t *Table) markKey(raw string) string {
	if !conn.Clustered(t.cfg.URL) {
		return markOfServer
	}
	return "lockgw:mark:{" + tagsOfSlots()[t.servers.Slot(raw)] + "}"
}

// tagsOfSlots are numbers, each in the slot of its place.
var tagsOfSlots = sync.OnceValue(func() []string {
	tags, missing := make([]string, servers.Slots), servers.Slots
	for n := 0; missing > 0; n++ {
		tag := strconv.Itoa(n)
		if at := &tags[servers.SlotOf(tag)]; *at == "" {
			*at = tag
			missing--
		}
	}
	return tags
})

// channelOf is where Redisson's programs tell of a release, of raw, which is the
// configured prefix and the lock's name.
func channelOf(raw string) string { return "redisson_lock__channel:" + tagged(raw) }

// counterOf is Redisson's fence counter.
func counterOf(raw string) string {
	before, after := counterAround(raw)
	return before + raw + after
}

// counterAround is what stands before and behind raw in counterOf.
func counterAround(raw string) (before, after string) {
	if bringsTag(raw) {
		return "redisson_lock_token:", ""
	}
	return "redisson_lock_token:{", "}"
}

// tagged puts raw into braces, by which a cluster finds the slot, unless it
// brings its own.
func tagged(raw string) string {
	if bringsTag(raw) {
		return raw
	}
	return "{" + raw + "}"
}

func bringsTag(raw string) bool { return strings.Contains(raw, "{") }
