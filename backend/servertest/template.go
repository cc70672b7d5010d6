package servertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Template is what a server has when it is new, of which each one gets a copy.
type Template struct {
	Make func(dir string) error // makes it, as dir/data

	mu  sync.Mutex // guards the field below
	dir string     // "": it was not made
}

// CopyTo makes a copy, as CopyDir does with how.
func (t *Template) CopyTo(data string, how ...string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir == "" {
		dir, err := os.MkdirTemp("", "lockgw-template-")
		if err != nil {
			return err
		}
		if err := t.Make(dir); err != nil {
			return errors.Join(err, os.RemoveAll(dir))
		}
		t.dir = dir
	}
	return CopyDir(filepath.Join(t.dir, "data"), data, how...)
}

// Remove is called at the end of the tests that start servers.
func (t *Template) Remove() {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = os.RemoveAll(t.dir)
	t.dir = ""
}

// CopyDir makes to, which is not there, a copy of from; how are options of cp.
func CopyDir(from, to string, how ...string) error {
	if out, err := exec.Command("cp", append(how, "-a", from, to)...).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, out)
	}
	return nil
}

// NewDir is one of the test with a short path, in which sockets can be made.
func NewDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "lockgw-servertest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
