package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pipePatience bounds how long a pipe that somebody has named as a file is waited for. What
// writes to it may have to ask elsewhere, as a shell's <(...) that asks a vault.
const pipePatience = 30 * time.Second

// ReadFile reads a file that somebody has named, at most so many bytes of it. A pipe that nobody
// writes to is an error after a while: it would hold up a reload, and all after it.
func ReadFile(path string, most int64) (text []byte, pipe bool, err error) {
	return readFile(path, most, pipePatience)
}

func readFile(path string, most int64, patience time.Duration) (text []byte, pipe bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a FIFO is open without a writer then
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	if pipe = info.Mode()&fs.ModeNamedPipe != 0; pipe {
		until := time.Now().Add(patience)
		awaitWriter(f, until)
		_ = f.SetReadDeadline(until)
	}
	text, err = io.ReadAll(io.LimitReader(f, most))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%s is a pipe, and its end did not come through it within %s", path, Duration(patience))
	}
	return text, pipe, err
}

// awaitWriter returns when a pipe has something to read, when its writers have gone, or at until. One
// that has had no writer yet would be read as an empty file.
func awaitWriter(f *os.File, until time.Time) {
	c, err := f.SyscallConn()
	if err != nil {
		return // reading says why
	}
	_ = c.Control(func(fd uintptr) { // File.Fd would have the deadline not count
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		for err := error(unix.EINTR); errors.Is(err, unix.EINTR); {
			_, err = unix.Poll(fds, int(max(0, time.Until(until)).Milliseconds())+1)
		}
	})
}
