package run

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

func TestStartError(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{&exec.Error{Name: "x", Err: exec.ErrNotFound}, cli.ExitNotFound},
		{&exec.Error{Name: "x", Err: syscall.ENOENT}, cli.ExitNotFound},
		{syscall.EACCES, cli.ExitCannotExecute},
		{syscall.ENOEXEC, cli.ExitCannotExecute},
	} {
		if got, message := cli.ExitCode(startError("x", tt.err)); got != tt.want || !strings.HasPrefix(message, "cannot run x: ") {
			t.Errorf("startError(%v) = %d %q, want %d", tt.err, got, message, tt.want)
		}
	}
}
