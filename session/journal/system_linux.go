package journal

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// bootID tells one start of the machine from another.
func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("tell one start of the machine from another: %w", err)
	}
	return string(b), nil
}

// reserve makes room on the disk for n bytes of the file from that offset on.
func reserve(fd int, from, n int64) error {
	for {
		if err := unix.Fallocate(fd, 0, from, n); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
