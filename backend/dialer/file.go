package dialer

import (
	"bytes"
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
		err = fmt.Errorf("%s is a pipe, and its end did not come through it within %s", path, patience)
	}
	return text, pipe, err
}

// maxFile bounds what is read of a file with a secret or certificates.
const maxFile = 1 << 20

// readBounded is what is in the file, which has an end.
func readBounded(path string) ([]byte, error) {
	text, _, err := ReadFile(path, maxFile+1)
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s is longer than %d bytes", path, maxFile)
	}
	return text, nil
}

// ReadSecret is what is in the file, without white space around it.
func ReadSecret(path string) ([]byte, error) {
	text, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return nil, errors.New(path + " is empty")
	}
	return text, nil
}

// readOnce: path is no file that says the same when it is read again, as a pipe is. Where it is not
// there, reading says so.
func readOnce(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular()
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
