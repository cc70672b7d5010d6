package doors

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// jobs run in a mount namespace whose /run and /tmp are empty: without XDG_RUNTIME_DIR, as
// under cron.
const jobs = `set -e
mount -t tmpfs tmpfs /run
tmp=%[1]s/tmp; mkdir $tmp; chmod 1777 $tmp; export TMPDIR=$tmp; unset XDG_RUNTIME_DIR
%[2]s
set +e
setpriv --reuid %[3]d --regid %[3]d --clear-groups %[4]s run nightly --on-unavailable %[5]s -- sh -c 'echo ran with ${LOCKGW_SOCKET:-no lock}'
echo exit $?
`

// asJob runs what a job of alice runs after prepare has run, and returns what it wrote.
func asJob(t *testing.T, dir, prepare, onUnavailable string) string {
	t.Helper()
	if err := os.Chmod(filepath.Dir(e2e.Program()), 0o755); err != nil { // she has to run it
		t.Fatal(err)
	}
	script := fmt.Sprintf(jobs, dir, prepare, alice, e2e.Program(), onUnavailable)
	out, err := exec.Command("unshare", "--mount", "sh", "-c", script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// Whoever makes the directory where another user's gateway would have its socket must not
// have that user's jobs run without the lock, or skipped.
func TestForeignSocketDirectory(t *testing.T) {
	foreign := fmt.Sprintf("d=$TMPDIR/lockgw-%d; mkdir $d; chown %d $d; ", alice, mallory)
	for name, prepare := range map[string]string{
		"empty":                          foreign,
		"unreadable":                     foreign + "chmod 700 $d",
		"with a file":                    foreign + "touch $d/resp.sock",
		"a link":                         fmt.Sprintf("mkdir $TMPDIR/x; ln -s $TMPDIR/x $TMPDIR/lockgw-%[1]d; chown -h %[2]d $TMPDIR/lockgw-%[1]d", alice, mallory),
		"not for her":                    "mkdir -m 755 /run/lockgw; (umask 077; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"/run/lockgw/resp.sock\")')",
		"not for her, and a foreign one": "mkdir -m 700 /run/lockgw; " + foreign,
	} {
		for _, onUnavailable := range []string{"run", "skip", "fail"} {
			t.Run(name+", "+onUnavailable, func(t *testing.T) {
				t.Parallel()
				dir := e2e.ShortDir(t)
				if err := os.Chmod(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				out := asJob(t, dir, prepare, onUnavailable)
				if strings.Contains(out, "ran with") || !strings.Contains(out, "exit 125\n") {
					t.Errorf("--on-unavailable %s:\n%s\nwant the exit code 125, and nothing run", onUnavailable, out)
				}
			})
		}
	}
}

// Where there is really no gateway, that is what was asked for.
func TestNoGatewayAtAll(t *testing.T) {
	dir := e2e.ShortDir(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if out := asJob(t, dir, "", "run"); !strings.Contains(out, "ran with no lock\nexit 0\n") {
		t.Errorf("without any gateway:\n%s\nwant the command run", out)
	}
}

// The gateway of the machine comes before one that anybody could have made.
func TestGatewayOfTheMachineFirst(t *testing.T) {
	dir := e2e.ShortDir(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	serve := fmt.Sprintf(`%s serve --http-listen= --socket-dir /run/lockgw --socket-mode 0666 --state-dir %s >%s 2>&1 &
pid=$!; trap 'kill $pid; wait' EXIT
until [ -S /run/lockgw/resp.sock ]; do sleep 0.05; done; sleep 0.2
d=$TMPDIR/lockgw-%d; mkdir $d; chown %d $d`, e2e.Program(), filepath.Join(dir, "state"), filepath.Join(dir, "log"), alice, mallory)
	if out := asJob(t, dir, serve, "run"); !strings.Contains(out, "ran with /run/lockgw/resp.sock\nexit 0\n") {
		t.Errorf("beside a foreign directory:\n%s\nwant the lock of the machine's gateway", out)
	}
}
