package run

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/session"
)

func TestAlarm(t *testing.T) {
	a, err := newAlarm()
	if err != nil {
		t.Fatal(err)
	}
	fired := func(within time.Duration) bool {
		select {
		case <-a.C:
			return true
		case <-time.After(within):
			return false
		}
	}
	if fired(20 * time.Millisecond) {
		t.Error("fires without having been set")
	}
	start := session.Boottime()
	a.set(start + 30*time.Millisecond)
	if !fired(e2e.Patience) {
		t.Fatal("does not fire")
	}
	if passed := session.Boottime() - start; passed < 30*time.Millisecond {
		t.Errorf("fired after %v, want 30ms", passed)
	}
	a.set(session.Boottime() + 10*time.Millisecond)
	a.set(session.Boottime() + time.Hour)
	if fired(50 * time.Millisecond) {
		t.Error("fires at the time that was set before")
	}
	for _, past := range []time.Duration{session.Boottime() - time.Second, 0, -time.Second} {
		a.set(past)
		if !fired(e2e.Patience) {
			t.Errorf("does not fire for %v, which has passed", past)
		}
	}
	if err := a.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	a.set(0) // without effect, without panic
}
