package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// What was said while nobody read is read later, in its order, and no one waits for it twice.
func TestPatient(t *testing.T) {
	r, w := io.Pipe()
	p := &patient{w: w}
	began := time.Now()
	for range 1000 {
		_, _ = io.WriteString(p, "a line\n")
	}
	_, _ = p.Write(make([]byte, mostUnwritten)) // too much
	if took := time.Since(began); took > 100*writePatience {
		t.Errorf("1000 lines that nobody read took %v", took)
	}
	all := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		all <- string(b)
	}()
	p.flush()
	_ = w.Close()
	if got, want := <-all, strings.Repeat("a line\n", 1000); got != want {
		t.Errorf("%d bytes were read, want %d", len(got), len(want))
	}
}

// A command is stopped in time also if nobody reads what is said of that.
func TestRunUnread(t *testing.T) {
	dir := t.TempDir()
	path, gateway := e2e.StartGatewayProcess(t, "--shutdown-timeout", "0.1")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("lockgw", "run", "nightly", "--ttl", "2s", "--socket", path, "--", "sh", "-c", `echo $$ >new; mv new pid; exec sleep 600`)
	cmd.Dir, cmd.Stderr = dir, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	e2e.Until(func() bool { return cli.Exists(filepath.Join(dir, "pid")) })
	if err := fill(w); err != nil {
		t.Fatal(err)
	}
	if err := gateway.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	pid, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	stat := filepath.Join("/proc", strings.TrimSpace(string(pid)))
	e2e.Until(func() bool { return !cli.Exists(stat) })
	if cli.Exists(stat) {
		t.Error("the command goes on without its lock")
	}
	_ = w.Close()
	said, err := io.ReadAll(r)
	if err != nil || !strings.Contains(string(said), "stopping the command\n") {
		t.Errorf("said at last: %q, %v", said[max(0, len(said)-200):], err)
	}
	e2e.WantExit(t, cmd, cli.ExitLost)
}

// What is said after its reader has ended must not end the run: it has a command to stop.
func TestRunBrokenPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	defer w.Close()
	cmd := exec.Command("lockgw", "run", "nightly", "--max-runtime", "0.5", "--socket", e2e.StartGateway(t), "--", "sleep", "600")
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e2e.WantExit(t, cmd, cli.ExitMaxRuntime)
}

// fill writes to a pipe until it takes no more.
func fill(pipe *os.File) error {
	// Opened once more: who has the pipe for stderr is to be held up by it.
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", pipe.Fd()), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for {
		if _, err := unix.Write(fd, []byte("x")); errors.Is(err, unix.EAGAIN) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
