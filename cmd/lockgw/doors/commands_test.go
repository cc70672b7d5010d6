package doors

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// A user who may not use the sockets is told so, with an exit code of its own, also by the
// commands that ask over HTTP: that is no gateway that is away.
func TestCommandsOfWhoMayNotUseTheSockets(t *testing.T) {
	g := start(t, setup{args: []string{"--socket-mode=0600"}})
	for _, args := range [][]string{{"status", "nightly"}, {"history", "nightly"}, {"history"}} {
		out, err := command(alice, e2e.Program(), append(args, "--socket", g.resp())...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != cli.ExitNoPermission || !strings.Contains(string(out), "you may not use the gateway") {
			t.Errorf("%q: %v %s, want exit code %d and the word that she may not", args, err, out, cli.ExitNoPermission)
		}
	}
	out, err := command(alice, e2e.Program(), "doctor", "--socket", g.resp()).Output()
	line, _, _ := strings.Cut(string(out), "\n")
	if err == nil || !strings.HasPrefix(line, "fail  gateway") || !strings.Contains(line, "you may not use the gateway") {
		t.Errorf("doctor: %v %s, want it to fail because she may not use the gateway", err, out)
	}
}
