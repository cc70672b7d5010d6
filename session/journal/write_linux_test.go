package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Where records are written, the kernel may end a process that is killed between two pages of
// one write: a turn must not be left without its answer. Here the second page has no room.
func TestKilledInAWrite(t *testing.T) {
	dir := t.TempDir()
	page := os.Getpagesize()
	if err := unix.Mount("lockgw-test", dir, "tmpfs", 0, fmt.Sprint("size=", page)); err != nil {
		t.Skipf("cannot mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	k := Key{Name: "n"}
	told := (&record{Op: opTold, Name: k.Name, Turn: ptr(turn("a", 5))}).append(nil)
	pair := answered("a", &Answer{Key: "k", What: "acquire", At: day, Fence: 5}).append(bytes.Clone(told))
	before := (&record{Op: opNode, Node: &Node{ID: "node-1"}}).append([]byte(header))
	before = (&record{Op: opOpened, Session: ptr(client("a"))}).append(before)
	for filler := (&record{Op: opWants, Name: k.Name}).append(nil); len(before)+len(pair) <= page; {
		before = append(before, filler...)
	}
	if len(before)+len(told) > page {
		t.Fatalf("the turn ends at %d, beyond the page", len(before)+len(told))
	}
	f, err := os.Create(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := &tail{f: f, plain: true}
	if err := out.append(before); err != nil {
		t.Fatal(err)
	}
	if err := out.append(pair); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("err = %v, want %v", err, unix.ENOSPC)
	}
	s, err := load(f.Name())
	if err != nil || s.Sessions["a"] == nil || s.Places[k] == nil || s.Places[k].Turn != nil {
		t.Errorf("%+v, place %+v, %v, want what was known before", s, s.Places[k], err)
	}
}
