package contender

import (
	"testing"
	"time"
)

// Leases that began at different times are renewed together, and none of them late.
func TestRenewedTogether(t *testing.T) {
	const ttl = 30 * time.Second
	at := map[time.Duration]bool{}
	for i := range 10_000 {
		sent := time.Duration(i)*time.Millisecond + 12345
		due := renewAt(sent, ttl)
		if late := due - (sent + ttl/3); late > 0 || late <= -ttl/60 {
			t.Fatalf("sent at %v, renewed at %v, %v from a third of the lease", sent, due, late)
		}
		at[due] = true
	}
	if len(at) > 22 {
		t.Errorf("10,000 leases that began within 10 s are renewed at %d times", len(at))
	}
	if renewAt(0, time.Nanosecond) != 0 {
		t.Error("the shortest lease is not renewed at once")
	}
}
