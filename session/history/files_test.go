package history

import (
	"os"
	"testing"
	"time"
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
