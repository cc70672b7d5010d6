package boottime

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// patience is how long a busy machine may take to do what is due.
const patience = time.Minute

func TestAlarm(t *testing.T) {
	a, err := New()
	if err != nil {
		t.Fatal(err)
	}
	checkAlarm(t, a)
}

func TestTimer(t *testing.T) { checkAlarm(t, NewTimer(Now)) }

func checkAlarm(t *testing.T, a *Alarm) {
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
	start := Now()
	a.Set(start + 30*time.Millisecond)
	if !fired(patience) {
		t.Fatal("does not fire")
	}
	if passed := Now() - start; passed < 30*time.Millisecond {
		t.Errorf("fired after %v, want 30ms", passed)
	}
	a.Set(Now() + 10*time.Millisecond)
	a.Set(Now() + time.Hour)
	if fired(50 * time.Millisecond) {
		t.Error("fires at the time that was set before")
	}
	for _, past := range []time.Duration{Now() - time.Second, 0, -time.Second} {
		a.Set(past)
		if !fired(patience) {
			t.Errorf("does not fire for %v, which has passed", past)
		}
	}
	if err := a.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	a.Set(0) // without effect, without panic
}

// A clock that goes on while the machine sleeps is ahead of Go's timers when it wakes.
func TestTimerAfterASleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var slept atomic.Int64
		a := NewTimer(func() time.Duration { return time.Since(start) + time.Duration(slept.Load()) })
		a.Set(time.Hour)
		slept.Store(int64(2 * time.Hour))
		select {
		case <-a.C:
		case <-time.After(glance + time.Millisecond):
			t.Error("late after a sleep")
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
}
