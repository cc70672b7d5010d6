package cli

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	unix.Umask(0o022) // a directory that everybody may write is refused
	os.Exit(m.Run())
}
