package history

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What is written later comes later, and the oldest goes first, also where the clock was set back.
func TestClockSetBack(t *testing.T) {
	f, err := openFiles(Config{Dir: t.TempDir(), Keep: 24 * time.Hour, MaxSize: 3 * 4096})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	line := make([]byte, f.segment) // so that each has a segment of its own
	var want string
	for i, at := range []time.Duration{0, -time.Hour, -time.Hour, -59 * time.Minute} {
		line[0] = byte('a' + i)
		want += string(line[:1])
		if err := f.write(line, now.Add(at)); err != nil {
			t.Fatal(err)
		}
	}
	f.close()
	all, err := list(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, s := range all {
		b, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		got += string(b[:1])
	}
	if want = want[len(want)-3:]; got != want {
		t.Errorf("the segments are %q, want %q: those written last, in their order", got, want)
	}
}

// What comes after somebody has removed the files, or moved them away, is kept in new ones.
func TestFilesAreTakenAway(t *testing.T) {
	for name, take := range map[string]func(dir, file string) error{
		"the directory": func(dir, _ string) error { return os.RemoveAll(dir) },
		"the file":      func(_, file string) error { return os.Remove(file) },
		"its name":      func(_, file string) error { return os.Rename(file, file+".1") },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "history")
			f, err := openFiles(Config{Dir: dir, Keep: 24 * time.Hour, MaxSize: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { f.close() }()
			now := time.Now()
			if err := f.write([]byte("before\n"), now); err != nil {
				t.Fatal(err)
			}
			if err := take(dir, f.out.Name()); err != nil {
				t.Fatal(err)
			}
			if all, err := list(dir); err != nil || len(all) > 0 {
				t.Errorf("list = %v, %v, want nothing", all, err)
			}
			if err := f.write([]byte("after\n"), now.Add(time.Second)); err != nil {
				t.Fatal(err)
			}
			all, err := list(dir)
			if err != nil || len(all) != 1 {
				t.Fatalf("list = %v, %v, want one segment", all, err)
			}
			if b, err := os.ReadFile(all[0].path); err != nil || string(b) != "after\n" {
				t.Errorf("it has %q, %v", b, err)
			}
		})
	}
}

// A directory or FIFO with the name of a segment is none: reading it would fail, or wait for ever.
func TestNoFileIsNoSegment(t *testing.T) {
	dir := t.TempDir()
	name := func(after time.Duration) string {
		return filepath.Join(dir, time.Now().UTC().Add(after).Format(named)+ending)
	}
	if err := errors.Join(unix.Mkfifo(name(0), 0o600), os.Mkdir(name(time.Second), 0o700)); err != nil {
		t.Fatal(err)
	}
	if all, err := list(dir); err != nil || len(all) > 0 {
		t.Errorf("list = %v, %v, want nothing", all, err)
	}
}
