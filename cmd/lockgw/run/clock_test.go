package run

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// A gateway whose clock is another one, as from a time namespace, does not have a run take a lock
// for held when it is not, nor for lost when it is held.
func TestClockOfGateway(t *testing.T) {
	const lease = time.Hour
	for _, ahead := range []time.Duration{0, 1000 * time.Hour, -1000 * time.Hour, time.Minute} {
		f := newFake(t)
		f.lease, f.ahead = lease, ahead
		f.holds = []client.Hold{{Name: "a"}}
		h := newHold(&options{dial: f.dial})
		h.views = []client.Hold{{Name: "a"}}
		if err := h.dial(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := session.Boottime()
		if err := h.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		read, err := h.read()
		if err != nil {
			t.Fatal(err)
		}
		after := session.Boottime()
		for _, got := range []time.Duration{h.views[0].Deadline, read[0].Deadline} {
			if got < before+lease || got > after+lease {
				t.Errorf("a clock ahead by %v: deadline in %v, want %v", ahead, got-before, lease)
			}
		}
		h.close()
	}
}
