package dialer

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A password is what is in its file now, or was before, and the log says once that it cannot be read.
func TestPassword(t *testing.T) {
	var log bytes.Buffer
	LogTo(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { LogTo(nil) })
	path := filepath.Join(t.TempDir(), "password")
	now := NewPassword(File{"password_file", path})
	is := func(want string) {
		t.Helper()
		if got := Password(now, "first"); got != want {
			t.Errorf("the password is %q, want %q", got, want)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	is("first")
	write("second\n")
	is("second")
	write("")
	is("second")
	is("second")
	if n := strings.Count(log.String(), "is empty"); n != 1 {
		t.Errorf("the log says %d times that the file is empty, in\n%s", n, &log)
	}
	write("third")
	is("third")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	is("third")
	if got := Password(nil, "first"); got != "first" {
		t.Errorf("without a file it is %q", got)
	}
	if _, err := ReadSecret("/dev/zero"); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a file without an end: %v", err)
	}
	if _, err := NewTLS(File{"ca_file", "/dev/zero"}, File{}, File{}); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("certificates without an end: %v", err)
	}
}
