// Package boottime is the clock of deadlines, and alarms on it: the time since the
// machine started, suspended time included. Nobody can set it, and a deadline on it has
// passed when the machine wakes up after it. time.Now and Go's timers stand still while
// the machine sleeps, so that they tell it too late.
package boottime

import (
	"sync"
	"time"
)

// Alarm fires at a time on a clock. Close it.
type Alarm struct {
	C <-chan struct{} // receives when the time has come; at most one is pending

	set   func(time.Duration)
	close func() error
}

// Set makes the alarm fire at t, at once if t has passed, and not at the time set
// before. One that has fired already may still be in C. After Close it does nothing.
func (a *Alarm) Set(t time.Duration) { a.set(t) }

// Close ends the alarm.
func (a *Alarm) Close() error { return a.close() }

// glance is how often a timer of Go's looks at the clock, as it may stand still.
const glance = time.Second

// NewTimer makes an Alarm, which is not set, of Go's timers: for a clock that the kernel
// has no timer for. It is a second late at most, whatever the clock does.
func NewTimer(now func() time.Duration) *Alarm {
	c := make(chan struct{}, 1)
	t := &timer{now: now, c: c}
	return &Alarm{C: c, set: t.set, close: t.close}
}

type timer struct {
	now func() time.Duration
	c   chan<- struct{}

	mu     sync.Mutex // guards the fields below
	t      *time.Timer
	at     time.Duration
	closed bool
}

func (t *timer) set(at time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = at
	t.arm()
}

func (t *timer) arm() {
	if t.closed {
		return
	}
	if t.t != nil {
		t.t.Stop() // one that runs already finds another time, and does nothing
	}
	at := t.at
	t.t = time.AfterFunc(min(at-t.now(), glance), func() { t.look(at) })
}

// look fires if the time at, which was set, has come.
func (t *timer) look(at time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed || t.at != at:
	case t.now() < at:
		t.arm()
	default:
		select {
		case t.c <- struct{}{}:
		default:
		}
	}
}

func (t *timer) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed = true; t.t != nil {
		t.t.Stop()
	}
	return nil
}
