package e2e

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// FillPipe writes to a pipe until it takes no more.
func FillPipe(pipe *os.File) error {
	// Opened once more: who has the pipe for stderr is to be held up by it.
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", pipe.Fd()), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for {
		if _, err := unix.Write(fd, []byte("x")); errors.Is(err, unix.EAGAIN) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
