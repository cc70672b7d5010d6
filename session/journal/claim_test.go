package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOneProcessOnly(t *testing.T) {
	j, _ := open(t, t.TempDir())
	_, _, err := Open(filepath.Dir(j.path))
	if !errors.Is(err, ErrLocked) {
		t.Fatalf("second Open: %v, want %v", err, ErrLocked)
	}
	reopen(t, j)
}

// Two processes that lock two files of one name would be one node. What cleans up /tmp may
// have deleted the first one.
func TestLockFileIsDeleted(t *testing.T) {
	j, _ := open(t, t.TempDir())
	dir := filepath.Dir(j.path)
	if err := os.Remove(filepath.Join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(dir); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Fatalf("Open without the lock file: %v, want %v with the name of the directory", err, ErrLocked)
	}
	reopen(t, j)
}

// A version that locks the lock file alone is kept out, too, and keeps out.
func TestLockFileIsLocked(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, lockName))
	if err != nil {
		t.Fatal(err)
	}
	if err := lock(f); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(dir); !errors.Is(err, ErrLocked) {
		t.Fatalf("Open beside an earlier version: %v, want %v", err, ErrLocked)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	j, _ := open(t, dir) // the attempt has kept nothing locked
	f, err = os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := lock(f); !errors.Is(err, ErrLocked) {
		t.Errorf("an earlier version beside this: %v, want %v", err, ErrLocked)
	}
	reopen(t, j)
}

// What a process starts has the files of its parent open until it is another program. It must
// not keep the directory that its parent has let go.
func TestCloseBesideAStart(t *testing.T) {
	j, _ := open(t, t.TempDir())
	for _, f := range []*os.File{j.lock, j.dir} {
		started, err := unix.Dup(int(f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(started)
	}
	reopen(t, j)
}
