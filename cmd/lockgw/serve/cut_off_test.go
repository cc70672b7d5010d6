package serve

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// A store that hangs does not keep a gateway from stopping, however long it may take to answer.
func TestStopIsCutOff(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel takes connections, and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	dir := e2e.ShortDir(t)
	var out strings.Builder
	cmd := exec.Command("lockgw", "serve", "--http-listen=", "--socket-dir", dir, "--state-dir", filepath.Join(dir, "state"),
		"--backend-url", "postgres://u@"+silent.Addr().String()+"/db?sslmode=disable&connect_timeout=60", "--backend-timeout", "2m", "--shutdown-timeout", "100ms")
	cmd.Stderr = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	d := &drained{t: t, dir: dir, cmd: cmd}
	e2e.Until(func() bool {
		c, err := net.Dial("unix", d.path(cli.RespSocket))
		return err == nil && c.Close() == nil
	})
	d.line("LOCK nightly WAIT 60")
	e2e.Until(func() bool { // the status of the lock would ask the store
		text, err := io.ReadAll(d.request(http.MethodGet, "/metrics").Body)
		return err == nil && strings.Contains(string(text), "\nlockgw_waiters 1\n")
	})
	d.signal()
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != cli.ExitFailed || !strings.Contains(out.String(), "cut off") {
			t.Errorf("it has ended with %v\n%s", err, out.String())
		}
	case <-time.After(30 * time.Second):
		t.Error("it goes on")
	}
}
