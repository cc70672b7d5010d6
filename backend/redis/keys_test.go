package redis

import (
	"testing"

	"github.com/lockgw/lockgw/backend/redis/servers"
)

// The keys of each lock share a slot.
func TestKeysShareASlot(t *testing.T) {
	for _, name := range []string{"a", "a/b", "{a}b", "b{a}", "{a}", "ü", "123456789", "app:{x}:y"} {
		want := servers.SlotOf(name)
		for _, key := range []string{channelOf(name), counterOf(name), recordKey(name), "lockgw:mark:{" + tagsOfSlots()[want] + "}"} {
			if got := servers.SlotOf(key); got != want {
				t.Errorf("slot of %s = %d, want %d", key, got, want)
			}
		}
	}
}
