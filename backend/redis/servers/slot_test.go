package servers

import (
	"testing"

	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// Redis itself says which slot a key has.
func TestSlot(t *testing.T) {
	client := redistest.Start(t, "--cluster-enabled", "yes").Client()
	for _, key := range []string{
		"a", "a/b", "{a}b", "b{a}", "{a}", "ü", "123456789", "app:{x}:y",
		"", "{}a", "a{}", "a{b", "a}b", "{}{a}", "{a}{b}", "{{a}}",
	} {
		if got, want := SlotOf(key), int(client.ClusterKeySlot(t.Context(), key).Val()); got != want {
			t.Errorf("slot of %q = %d, want %d", key, got, want)
		}
	}
}
