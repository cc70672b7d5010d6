package postgres

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// The password and the files for TLS are read together, once for each connection: what they say belongs
// together.
func TestPassfileIsReadOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pgpass")
	if err := os.WriteFile(path, []byte("*:*:*:u:one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"require", "disable"} {
		a, err := parseAddress("postgres://u@h/d?sslmode=" + mode + "&passfile=" + path)
		if err != nil {
			t.Fatal(err)
		}
		if n := opened(t, path, func() { a.server.now() }); n != 1 {
			t.Errorf("sslmode %s: a connection has read the file %d times, want once", mode, n)
		}
	}
}

// opened is how often f opens the file at path.
func opened(t *testing.T, path string, f func()) (n int) {
	t.Helper()
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(watch)
	if _, err := unix.InotifyAddWatch(watch, path, unix.IN_OPEN|unix.IN_CLOSE_NOWRITE); err != nil { // or those alike would be one
		t.Fatal(err)
	}
	f()
	events := make([]byte, 4096)
	got, err := unix.Read(watch, events)
	if errors.Is(err, unix.EAGAIN) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return got / unix.SizeofInotifyEvent / 2
}
