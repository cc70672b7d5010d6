package redis

import (
	"testing"

	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// Redis itself says which slot it is; and the keys of each lock share one.
func TestSlot(t *testing.T) {
	client := redistest.Start(t, "--cluster-enabled", "yes").Client()
	for _, name := range []string{"a", "a/b", "{a}b", "b{a}", "{a}", "ü", "123456789", "app:{x}:y"} {
		want := int(client.ClusterKeySlot(t.Context(), name).Val())
		k := keysOf(name)
		for _, key := range []string{k.lock, k.channel, k.counter, k.state, k.queue, k.entries, k.last, k.floor + "node"} {
			if got := slotOf(key); got != want {
				t.Errorf("slot of %s = %d, want %d", key, got, want)
			}
		}
	}
	for _, key := range []string{"", "{}a", "a{}", "a{b", "a}b", "{}{a}", "{a}{b}", "{{a}}"} {
		if got, want := slotOf(key), int(client.ClusterKeySlot(t.Context(), key).Val()); got != want {
			t.Errorf("slot of %q = %d, want %d", key, got, want)
		}
	}
}
