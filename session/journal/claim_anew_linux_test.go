package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Where somebody has removed the directory and made it anew, the journal is written there only
// with the directory locked: a second gateway that finds it would be the same node.
func TestDirIsMadeAnew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	j, _ := open(t, dir)
	j.Opened(client("a"))
	if j.out.plain {
		t.Skip("this file system cannot allocate or map")
	}
	makeAnew(t, dir)
	j.out.looked = time.Now().Add(-glance)
	j.Opened(client("b"))
	if err := j.Err(); !errors.Is(err, errNoPage) {
		t.Errorf("err = %v, want %v", err, errNoPage)
	}
	j.next = time.Time{}
	told := turn("b", 5)
	told.Deadline = 90 * time.Second
	j.Told(Key{Name: "n"}, told, nil)
	if err := j.Err(); err != nil {
		t.Errorf("err = %v, want it to be written again", err)
	}
	if _, _, err := Open(dir); !errors.Is(err, ErrLocked) {
		t.Fatalf("a second gateway: %v, want %v", err, ErrLocked)
	}
	if err := os.Remove(j.path); err != nil {
		t.Fatal(err)
	}
	if _, s := reopen(t, j); s.Until < told.Deadline {
		t.Errorf("until %v when the journal is lost, want %v", s.Until, told.Deadline)
	}
}

// A directory that was made anew may be that of a second gateway by now.
func TestDirIsTakenAnew(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	j, _ := open(t, dir)
	j.Opened(client("a"))
	if j.out.plain {
		t.Skip("this file system cannot allocate or map")
	}
	makeAnew(t, dir)
	second, _ := open(t, dir)
	second.Opened(client("b"))
	j.out.looked = time.Now().Add(-glance)
	j.Spent("a")
	j.next = time.Time{}
	j.Closed("a")
	if j.Err() == nil {
		t.Error("the first gateway writes a journal in the directory of the second")
	}
	if _, s := reopen(t, second); len(s.Sessions) != 1 || s.Sessions["b"] == nil {
		t.Errorf("sessions %+v, want that of the second gateway", s.Sessions)
	}
}

func makeAnew(t *testing.T, dir string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
}
