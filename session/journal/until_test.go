package journal

import (
	"os"
	"testing"
	"time"
)

// When the journal is lost the next process still knows until when somebody may rely on
// what it told of.
func TestUntilWhenSomebodyMayHold(t *testing.T) {
	for what, lose := range map[string]func(path string) error{
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"removed": os.Remove,
		"damaged": func(path string) error { return os.WriteFile(path, []byte("nonsense"), 0o600) },
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			j, first := open(t, dir)
			if first.Until != 0 {
				t.Errorf("a new directory: until %v, want 0", first.Until)
			}
			j.Opened(client("a"))
			told := turn("a", 5)
			told.Deadline = 90 * time.Second
			j.Told(Key{Name: "n"}, told, nil)
			j.Deadline(Key{Name: "n"}, 100*time.Second)
			j, s := reopen(t, j)
			if s.Until != 0 {
				t.Errorf("with a journal: until %v, want 0", s.Until)
			}
			if err := lose(j.path); err != nil {
				t.Fatal(err)
			}
			j, s = reopen(t, j)
			if s.Node == first.Node || s.Until < 100*time.Second || s.Until > 102*time.Second {
				t.Errorf("node %s, until %v; want a new node, and 100 s", s.Node, s.Until)
			}
			until := s.Until
			if j, s = reopen(t, j); s.Until != until {
				t.Errorf("the process after that: until %v, want %v: nobody has told it of the holds either", s.Until, until)
			}
			if err := lose(j.path); err != nil {
				t.Fatal(err)
			}
			j.reach.boot = "another"
			if err := j.reach.write(); err != nil {
				t.Fatal(err)
			}
			if _, s = reopen(t, j); s.Until != 0 {
				t.Errorf("after a start of the machine: until %v, want 0", s.Until)
			}
		})
	}
}
