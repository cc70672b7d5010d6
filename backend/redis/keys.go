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
	return "lockgw:" + before + raw + after
}

// recordAround is around, but that one which brings its tag shows that.
func recordAround(raw string) (before, after string) {
	if before, after = around(raw); before == "" {
		before = "lockgw:"
	}
	return before, after
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
func counterOf(raw string) string { return counterPrefix + tagged(raw) }

const counterPrefix = "redisson_lock_token:"

func tagged(raw string) string {
	before, after := around(raw)
	return before + raw + after
}

// around is the braces by which a cluster finds the slot of raw, unless it brings its own.
func around(raw string) (before, after string) {
	if strings.Contains(raw, "{") {
		return "", ""
	}
	return "{", "}"
}
