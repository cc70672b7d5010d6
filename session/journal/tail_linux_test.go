package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A process that is killed while it appends leaves any part of it, but not the first
// byte of the first record: none of it is believed.
func TestKilledInAnAppend(t *testing.T) {
	j, _ := open(t, t.TempDir())
	j.Opened(client("a"))
	before, was := bytes.Clone(written(t, j)), j.state.clone()
	j.Told(Key{Name: "n"}, turn("a", 5), &Answer{Key: "k", What: "acquire", At: day, Fence: 5})
	whole := written(t, j)
	for n := len(before); n < len(whole); n++ {
		for _, left := range [][2]int{{len(before), n}, {n, len(whole)}} {
			b := append(bytes.Clone(before), make([]byte, len(whole)+1000)...)
			copy(b[left[0]:], whole[left[0]:left[1]])
			b[len(before)+prefix] = 0
			if s, err := read(b); err != nil || !reflect.DeepEqual(s, was) {
				t.Fatalf("of %d to %d the bytes %v: %+v, %v, want what was known before", len(before), len(whole), left, s, err)
			}
		}
	}
	if s, err := read(append(whole, make([]byte, 1000)...)); err != nil || !reflect.DeepEqual(s, j.state) {
		t.Errorf("with zeros after it: %+v, %v, want what is known now", s, err)
	}
}

// Where a machine went down a page may be missing, which reads as zeros.
func TestMissingEnd(t *testing.T) {
	j, _ := open(t, t.TempDir())
	j.Opened(client("a"))
	was, size := j.state.clone(), j.out.size
	j.Wants(Key{Name: "n"})
	b := bytes.Clone(written(t, j))
	clear(b[size+prefix+3:])
	if s, err := read(b); err != nil || !reflect.DeepEqual(s, was) {
		t.Errorf("%+v, %v, want what was known before", s, err)
	}
}

// Whenever a process is killed, the next one knows of every turn that was told.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("JOURNAL_TEST_DIR"); dir != "" {
		tellUntilKilled(dir)
	}
	for round := range 10 {
		dir := t.TempDir()
		c := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		c.Env = append(os.Environ(), "JOURNAL_TEST_DIR="+dir)
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		said := make([]byte, 8*(1+round*700))
		_, err = io.ReadFull(out, said)
		if err := errors.Join(err, c.Process.Kill()); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(out)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Wait() // killed
		said = append(said, rest[:len(rest)/8*8]...)
		told := binary.LittleEndian.Uint64(said[len(said)-8:])
		s, err := load(filepath.Join(dir, fileName))
		if p := s.Places[Key{Name: "n"}]; err != nil || p == nil || p.Fence < told || p.Fence > told+1 {
			t.Errorf("killed after it told of fence %d: knows %+v, rejected %q, %v", told, p, s.Rejected, err)
		}
	}
}

func tellUntilKilled(dir string) {
	j, _, err := Open(dir)
	for fence := uint64(1); err == nil; fence++ {
		j.Told(Key{Name: "n"}, turn("a", fence), nil)
		_, err = os.Stdout.Write(binary.LittleEndian.AppendUint64(nil, fence))
	}
	os.Exit(1)
}

// A file that another program empties while it is mapped has no page for a record.
func TestFileIsCut(t *testing.T) {
	j, _ := open(t, t.TempDir())
	j.Opened(client("a"))
	if j.out.plain {
		t.Skip("this file system cannot allocate or map")
	}
	if err := os.Truncate(j.path, 0); err != nil {
		t.Fatal(err)
	}
	j.Told(Key{Name: "n"}, turn("a", 5), nil)
	if err := j.Err(); !errors.Is(err, errNoPage) {
		t.Errorf("err = %v, want %v", err, errNoPage)
	}
	j.next = time.Time{}
	j.Entries(Key{Name: "n"}, "a", 2, nil)
	if err := j.Err(); err != nil {
		t.Errorf("err = %v, want it to be written again", err)
	}
	if _, s := reopen(t, j); s.Sessions["a"] == nil || s.Places[Key{Name: "n"}].Turn.Count != 2 {
		t.Errorf("%+v, want all that happened", s)
	}
}

// The page in which a file is cut takes records all the same, as does one that is
// removed or replaced. A second later at most that is noticed, and nothing old is believed.
func TestFileIsCutInItsLastPage(t *testing.T) {
	for name, spoil := range map[string]func(j *Journal) error{
		"cut":     func(j *Journal) error { return os.Truncate(j.path, j.out.size) },
		"removed": func(j *Journal) error { return os.Remove(j.path) },
		"replaced": func(j *Journal) error {
			b, err := os.ReadFile(j.path)
			return errors.Join(err, os.WriteFile(j.path+".copy", b, 0o600), os.Rename(j.path+".copy", j.path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			j, _ := open(t, t.TempDir())
			j.Opened(client("a"))
			j.Opened(client("b"))
			if j.out.plain {
				t.Skip("this file system cannot allocate or map")
			}
			if err := spoil(j); err != nil {
				t.Fatal(err)
			}
			j.out.looked = time.Now().Add(-glance)
			j.Closed("a")
			if err := j.Err(); !errors.Is(err, errNoPage) {
				t.Errorf("err = %v, want %v", err, errNoPage)
			}
			if s, err := load(j.path); err != nil || len(s.Sessions) != 0 {
				t.Errorf("found %+v, %v; want nothing", s, err)
			}
			j.next = time.Time{}
			j.Spent("b")
			if _, s := reopen(t, j); len(s.Sessions) != 1 || s.Sessions["b"] == nil {
				t.Errorf("sessions %+v, want b alone", s.Sessions)
			}
		})
	}
}

// On a disk that becomes full records are mapped, then written where there is no room
// for a chunk, then refused; and mapped again when there is room.
func TestNoRoom(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("lockgw-test", dir, "tmpfs", 0, "size=600k"); err != nil {
		t.Skipf("cannot mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	j, _ := open(t, dir)
	j.Opened(client("a"))
	if j.out.plain {
		t.Error("it is not mapped")
	}
	n := 0
	for ; j.Err() == nil && n < 10_000; n++ {
		j.Told(Key{Name: fmt.Sprint("n", n)}, turn("a", 5), nil)
	}
	if !errors.Is(j.Err(), unix.ENOSPC) || !j.out.plain || n < 2500 {
		t.Errorf("err = %v after %d turns, plain %v, want %v when all of the 600 KiB is used", j.Err(), n, j.out.plain, unix.ENOSPC)
	}
	if s, err := load(j.path); err != nil || s.Node != "" {
		t.Errorf("found %+v, %v; want nothing", s, err)
	}
	for i := range n {
		j.Idle(Key{Name: fmt.Sprint("n", i)})
	}
	j.next = time.Time{}
	j.Told(Key{Name: "n"}, turn("a", 6), nil)
	j.Entries(Key{Name: "n"}, "a", 2, nil)
	if err := j.Err(); err != nil || j.out.plain {
		t.Errorf("err = %v, plain %v, want it to be mapped again", err, j.out.plain)
	}
	if _, s := reopen(t, j); len(s.Places) != 1 || s.Sessions["a"] == nil {
		t.Errorf("%+v, want the session and its turn", s)
	}
}

// What cannot be mapped is written, and has no zeros after it.
func TestCannotMap(t *testing.T) {
	j, _ := open(t, t.TempDir())
	f, err := os.OpenFile(j.path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	j.out.drop()
	j.out.f, j.out.mem = f, nil
	j.Opened(client("a"))
	j.Told(Key{Name: "n"}, turn("a", 5), &Answer{Key: "k", What: "acquire", At: day, Fence: 5})
	if err := j.Err(); err != nil || !j.out.plain {
		t.Errorf("err = %v, plain %v", err, j.out.plain)
	}
	b, err := os.ReadFile(j.path)
	if err != nil || int64(len(b)) != j.out.size {
		t.Errorf("%d bytes, %v, want %d", len(b), err, j.out.size)
	}
	if s, err := read(b); err != nil || !reflect.DeepEqual(s, j.state) {
		t.Errorf("read %+v, %v, want %+v", s, err, j.state)
	}
}

// The file of a process that ended in order has its records alone.
func TestClosedFileHasNoZeros(t *testing.T) {
	j, _ := open(t, t.TempDir())
	j.Wants(Key{Name: "n"})
	want := bytes.Clone(written(t, j))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(j.path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v, want %d", len(got), err, len(want))
	}
}

// A process that starts while the disk is full knows what the one before it has left, and so
// does the next one, if there is room for that where it stood.
func TestStartWithoutRoom(t *testing.T) {
	for _, tt := range []struct {
		what, options string
		full          bool // nothing can be written
		answers       int  // that were given
	}{
		{what: "where the room was allocated", options: "size=600k"},
		{what: "where the answers have it", options: "size=8m", answers: 420},
		{what: "no room for a file", options: "size=2m,nr_inodes=4", full: true},
	} {
		t.Run(tt.what, func(t *testing.T) {
			dir := t.TempDir()
			if err := unix.Mount("lockgw-test", dir, "tmpfs", 0, tt.options); err != nil {
				t.Skipf("cannot mount: %v", err)
			}
			t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
			j, first := open(t, dir)
			j.Opened(client("a"))
			j.Told(Key{Name: "n"}, turn("a", 5), nil)
			flood(j, "a", tt.answers)
			_ = j.letGo() // as if it was killed
			filler, err := os.Create(filepath.Join(dir, "filler"))
			for err == nil {
				if _, err = filler.Write(make([]byte, 4096)); tt.full {
					break
				}
			}
			if !tt.full && !errors.Is(err, unix.ENOSPC) {
				t.Fatal(err)
			}
			j, s := open(t, dir)
			if p := s.Places[Key{Name: "n"}]; s.Node != first.Node || s.Sessions["a"] == nil || p == nil || p.Turn == nil {
				t.Errorf("it knows %+v", s)
			}
			if err := j.Err(); (err != nil) != tt.full {
				t.Errorf("err = %v", err)
			}
			if tt.answers > 0 && j.base > 1000 {
				t.Errorf("%d bytes, want them without the answers", j.base)
			}
			j.Entries(Key{Name: "n"}, "a", 2, nil)
			_ = j.letGo()
			s, err = load(j.path)
			if err != nil {
				t.Fatal(err)
			}
			if p := s.Places[Key{Name: "n"}]; !tt.full && (p == nil || p.Turn == nil || p.Turn.Count != 2) {
				t.Errorf("the next process knows %+v", s)
			}
			if tt.full && s.Node != "" {
				t.Errorf("the next process believes what is outdated: %+v", s)
			}
		})
	}
}
