package servertest

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// SmallDisk has dir be a disk of its own, of so many bytes, until the test ends. Only root can
// do that: for other users the test is skipped, and where root may not, it fails.
func SmallDisk(t testing.TB, dir string, size string) {
	t.Helper()
	if err := unix.Mount("lockgw-test", dir, "tmpfs", 0, "size="+size); err != nil {
		no := t.Fatalf
		if os.Geteuid() != 0 {
			no = t.Skipf
		}
		no("no disk that can become full: mount of a tmpfs at %s: %v", dir, err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

// Fill leaves room for so many bytes on the disk of dir; free makes all of it again.
func Fill(t testing.TB, dir string, room int64) (free func()) {
	t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for some := make([]byte, 1<<20); len(some) > 0; { // as large as fits, down to a byte
		if _, err = f.Write(some); errors.Is(err, unix.ENOSPC) {
			some = some[:len(some)/2]
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if size, err := f.Seek(0, io.SeekEnd); err != nil || f.Truncate(size-room) != nil {
		t.Fatalf("the disk of %s is smaller than %d bytes, or: %v", dir, room, err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
