//go:build darwin || freebsd

package journal

import (
	"encoding/hex"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// bootID tells one start of the machine from another. kern.boottime, for want of an
// id, also changes when somebody sets the time of day; what the journal has is not
// claimed then, as after a start of the machine.
func bootID() (string, error) {
	var err error
	for _, name := range []string{"kern.bootsessionuuid", "kern.boot_id", "kern.boottime"} {
		var id []byte
		if id, err = unix.SysctlRaw(name); err == nil && len(id) > 0 {
			return hex.EncodeToString(id), nil
		}
	}
	return "", fmt.Errorf("tell one start of the machine from another: kern.boottime: %w", err)
}

// reserve is not possible in one way on these systems: each record is written.
func reserve(int, int64, int64) error { return errors.ErrUnsupported }
