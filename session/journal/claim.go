package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// claim locks the directory, and the lock file, as earlier versions know only that. Either is
// not enough: some file systems lock no directories; and a file may be deleted, as by what
// cleans up /tmp, and made again by a second gateway, which would be the same node.
// systemd-tmpfiles leaves alone what is in a locked directory. The kernel unlocks both when
// the process ends, in whatever way.
func (j *Journal) claim(dir string) (err error) {
	if j.dir, err = os.Open(dir); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	if err := lock(j.dir); errors.Is(err, ErrLocked) {
		return err
	}
	if j.lock, err = os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	return lock(j.lock)
}

func lock(f *os.File) error {
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return fmt.Errorf("state directory, %s: %w; give each gateway a state_dir of its own", f.Name(), ErrLocked)
	case err != nil:
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}

// letGo undoes claim. To close the files is not enough: what this process is about to start
// has them open, too, until it is another program.
func (j *Journal) letGo() error {
	var errs []error
	for _, f := range []*os.File{j.lock, j.dir} {
		if f != nil {
			_ = unix.Flock(int(f.Fd()), unix.LOCK_UN) // what is not locked has nothing to undo
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
