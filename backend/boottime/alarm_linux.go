package boottime

import (
	"fmt"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Now is CLOCK_BOOTTIME.
func Now() time.Duration {
	var ts unix.Timespec
	// Raw, because it never blocks and is asked several times for each answer.
	_, _, errno := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_BOOTTIME, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		panic("CLOCK_BOOTTIME: " + errno.Error()) // Linux has it since 2.6.39
	}
	return time.Duration(ts.Nano())
}

// timerfd is a timer that the kernel keeps on CLOCK_BOOTTIME.
type timerfd struct {
	f  *os.File
	wg sync.WaitGroup
}

// New makes an Alarm on Now, which is not set.
func New() (*Alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timer: %w", err)
	}
	c := make(chan struct{}, 1)
	t := &timerfd{f: os.NewFile(uintptr(fd), "timerfd")}
	t.wg.Go(func() {
		var expirations [8]byte
		for {
			if _, err := t.f.Read(expirations[:]); err != nil {
				return // closed
			}
			select {
			case c <- struct{}{}:
			default:
			}
		}
	})
	return &Alarm{C: c, set: t.set, close: t.close}, nil
}

func (t *timerfd) set(at time.Duration) {
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, at.Nanoseconds()))} // 0 would switch it off
	c, err := t.f.SyscallConn()
	if err != nil {
		return // closed
	}
	_ = c.Control(func(fd uintptr) { err = unix.TimerfdSettime(int(fd), unix.TFD_TIMER_ABSTIME, &spec, nil) })
	if err != nil {
		panic("timerfd: " + err.Error()) // the arguments are always good
	}
}

func (t *timerfd) close() error {
	err := t.f.Close()
	t.wg.Wait()
	return err
}
