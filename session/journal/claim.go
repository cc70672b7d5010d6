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
// the process ends, in whatever way. What is locked already is left; a directory that was made
// anew is not: the journal in it would be found by a second gateway.
func (j *Journal) claim(dir string) error {
	if !isAt(j.dir, dir) {
		f, err := os.Open(dir)
		if err != nil {
			return fmt.Errorf("state directory: %w", err)
		}
		if err := lock(f); errors.Is(err, ErrLocked) {
			return errors.Join(err, f.Close())
		}
		_ = letGo(j.dir) // it has that name no more
		j.dir = f
	}
	path := filepath.Join(dir, lockName)
	if isAt(j.lock, path) {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	if err := lock(f); err != nil {
		return errors.Join(err, f.Close())
	}
	_ = letGo(j.lock)
	j.lock = f
	j.reach.move(f)
	return nil
}

// isAt tells whether f is what has the name path now.
func isAt(f *os.File, path string) bool {
	if f == nil {
		return false
	}
	have, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(have, there)
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

// letGo undoes claim.
func (j *Journal) letGo() error { return errors.Join(letGo(j.lock), letGo(j.dir)) }

// letGo unlocks f, if there is one. To close it is not enough: what this process is about to start
// has it open, too, until it is another program.
func letGo(f *os.File) error {
	if f == nil {
		return nil
	}
	_ = unix.Flock(int(f.Fd()), unix.LOCK_UN) // what is not locked has nothing to undo
	return f.Close()
}
