package run

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// alarm fires at a time on CLOCK_BOOTTIME, on which the deadlines of holds are.
// Go's own timers stand still while the machine sleeps, so that they would let a
// command run on after it wakes up.
type alarm struct {
	C <-chan struct{} // receives when the time has come; at most one is pending

	timer *os.File
	wg    sync.WaitGroup
}

// newAlarm makes an alarm that is not set. Close it.
func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timer: %w", err)
	}
	c := make(chan struct{}, 1)
	a := &alarm{C: c, timer: os.NewFile(uintptr(fd), "timerfd")}
	a.wg.Go(func() {
		var expirations [8]byte
		for {
			if _, err := a.timer.Read(expirations[:]); err != nil {
				return // closed
			}
			select {
			case c <- struct{}{}:
			default:
			}
		}
	})
	return a, nil
}

// set makes the alarm fire at t, at once if t has passed, and not at the time
// set before. One that has fired already may still be in C.
func (a *alarm) set(t time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, t.Nanoseconds()))} // 0 would switch it off
	c, err := a.timer.SyscallConn()
	if err != nil {
		return // closed
	}
	_ = c.Control(func(fd uintptr) { err = unix.TimerfdSettime(int(fd), unix.TFD_TIMER_ABSTIME, &spec, nil) })
	if err != nil {
		panic("timerfd: " + err.Error()) // the arguments are always good
	}
}

// Close ends the alarm.
func (a *alarm) Close() error {
	err := a.timer.Close()
	a.wg.Wait()
	return err
}
