package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// screen is a terminal and what was written on it.
type screen struct {
	t      *testing.T
	master *os.File

	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func openScreen(t *testing.T) (s *screen, slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("no terminals here: %v", err)
	}
	master := os.NewFile(uintptr(fd), "ptmx") // in the poller, so that Close ends a Read
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = errors.Join(
			unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
			unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 25, Col: 120}),
		)
	}
	if err != nil {
		t.Fatalf("set up the terminal: %v", err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s = &screen{t: t, master: master}
	var wg sync.WaitGroup
	wg.Go(s.read)
	t.Cleanup(func() {
		slave.Close()
		master.Close()
		wg.Wait()
	})
	return s, slave
}

func (s *screen) read() {
	buf := make([]byte, 4096)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.text.Write(buf[:n])
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *screen) shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *screen) await(pattern string) {
	s.t.Helper()
	want := regexp.MustCompile(pattern)
	until(func() bool { return want.MatchString(s.shown()) })
	if got := s.shown(); !want.MatchString(got) {
		s.t.Fatalf("terminal shows %q, want a match for %q", got, pattern)
	}
}

func (s *screen) typed(text string) {
	s.t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		s.t.Fatalf("type %q: %v", text, err)
	}
}

// onTerminal starts lockgw as the foreground of a terminal of its own.
func onTerminal(t *testing.T, path string, args ...string) (*screen, *exec.Cmd) {
	t.Helper()
	return startOnTerminal(t, path, "lockgw", args...)
}

func startOnTerminal(t *testing.T, path, name string, args ...string) (*screen, *exec.Cmd) {
	t.Helper()
	s, slave := openScreen(t)
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LOCKGW_SOCKET="+path, "TERM=xterm", "GORACE=atexit_sleep_ms=0")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return s, cmd
}

func wantExit(t *testing.T, cmd *exec.Cmd, want int) {
	t.Helper()
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Errorf("exit code = %d (%v), want %d", got, cmd.ProcessState, want)
	}
}

// A command in a group of its own would be stopped when it reads the terminal.
func TestTerminalInput(t *testing.T) {
	s, cmd := onTerminal(t, startGateway(t), "run", "nightly", "--", "sh", "-c", `echo up; read x; echo "got <$x>"; read y; echo "and <$y>"`)
	s.await("up")
	s.typed("hello\n")
	s.await("got <hello>")
	s.typed("again\n")
	s.await("and <again>")
	wantExit(t, cmd, 0)
}

func TestTerminalInterrupt(t *testing.T) {
	path := startGateway(t)
	for _, tt := range []struct{ name, script string }{
		{"before it reads", `echo up; while :; do sleep 0.01; done`},
		{"while it reads", `echo up; read x; echo never`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, cmd := onTerminal(t, path, "run", "nightly", "--", "sh", "-c", tt.script)
			s.await("up")
			s.typed("\x03")
			wantExit(t, cmd, 130)
		})
	}
}

// Ctrl-Z stops the command and this process, for the shell to see; both go on
// with it, and the lock is held all the while.
func TestTerminalSuspend(t *testing.T) {
	path := startGateway(t)
	for _, tt := range []struct{ name, script string }{
		// It starts nothing: a shell in vfork(2) does not stop before the process
		// that it starts goes on, and that one is stopped.
		{"before it reads", `echo up; i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done; read x; echo "got <$x>"`},
		{"while it reads", `echo up; read x; echo "got <$x>"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, cmd := onTerminal(t, path, "run", "nightly", "--ttl", "3s", "--", "sh", "-c", tt.script)
			s.await("up")
			s.typed("\x1a")
			var status syscall.WaitStatus
			until(func() bool {
				pid, err := syscall.Wait4(cmd.Process.Pid, &status, unix.WUNTRACED|unix.WNOHANG, nil)
				return pid != 0 || err != nil
			})
			if !status.Stopped() {
				t.Fatalf("after Ctrl-Z: status %#x, want stopped", status)
			}
			time.Sleep(3500 * time.Millisecond) // longer than the lease, whose end this process knew of
			if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			s.typed("back\n")
			s.await("got <back>")
			wantExit(t, cmd, 0)
		})
	}
}

// A job in the background must not take the terminal from its shell: it is
// stopped when it reads, and its shell sees that.
func TestTerminalBackground(t *testing.T) {
	script := `set -m
		lockgw run nightly -- sh -c 'read x; echo "job got <$x>"' &
		until jobs | grep -q Stopped; do sleep 0.01; done
		echo stopped; read y; echo "shell got <$y>"; fg`
	s, cmd := startOnTerminal(t, startGateway(t), "bash", "-c", script)
	s.await("stopped")
	s.typed("one\n")
	s.await("shell got <one>")
	s.typed("two\n")
	s.await("job got <two>")
	wantExit(t, cmd, 0)
}

// A script gets the terminal back from the command, though it is no shell that
// takes it.
func TestTerminalGivenBack(t *testing.T) {
	s, cmd := startOnTerminal(t, startGateway(t), "sh", "-c",
		`lockgw run nightly -- sh -c 'read x; echo "command got <$x>"'; read y; echo "script got <$y>"`)
	s.typed("one\n")
	s.await("command got <one>")
	s.typed("two\n")
	s.await("script got <two>")
	wantExit(t, cmd, 0)
}

// The wait is one line that is written again, and is gone at the end.
func TestTerminalWait(t *testing.T) {
	path := startGateway(t)
	holder := exec.Command("lockgw", "run", "nightly", "--socket", path, "--", "sleep", "60")
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Process.Kill() })
	until(func() bool {
		out, _ := exec.Command("lockgw", "ls", "-o", "name", "--socket", path).Output()
		return strings.Contains(string(out), "nightly")
	})
	s, cmd := onTerminal(t, path, "run", "nightly", "--wait", "1m", "--", "echo", "done")
	s.await(`\r\x1b\[Kwaiting for nightly - held by .* pid \d+ \(sleep\) for \d+s - 1st of 1 - gives up in 59s`)
	s.await(`gives up in 58s`)
	if got := strings.Count(s.shown(), "\n"); got != 0 {
		t.Errorf("the wait has made %d lines, want one that is never ended: %q", got, s.shown())
	}
	if err := holder.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait()
	s.await(`\r\x1b\[Klockgw: got nightly after \ds \(fence \d+\)\r\ndone`)
	wantExit(t, cmd, 0)
}
