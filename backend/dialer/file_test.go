package dialer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A pipe that is named as a file is waited for, but not for ever.
func TestReadPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	const late = "is a pipe, and its end did not come"
	if _, _, err := readFile(path, 9, time.Millisecond); err == nil || !strings.Contains(err.Error(), late) {
		t.Errorf("without a writer: %v, want that it %s", err, late)
	}
	go func() { _ = os.WriteFile(path, []byte("secret"), 0) }() // waits for who reads it
	if text, pipe, err := readFile(path, 9, time.Minute); string(text) != "secret" || !pipe || err != nil {
		t.Errorf("with a writer: %q, %v, %v; want what it wrote", text, pipe, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0) // a writer that writes no more
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("half"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readFile(path, 9, time.Millisecond); err == nil || !strings.Contains(err.Error(), late) {
		t.Errorf("a writer that hangs: %v, want that it %s", err, late)
	}
}
