package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// A command in a group of its own would be stopped when it reads the terminal.
func TestTerminalInput(t *testing.T) {
	s, cmd := e2e.OnTerminal(t, e2e.StartGateway(t), "run", "nightly", "--", "sh", "-c", `echo up; read x; echo "got <$x>"; read y; echo "and <$y>"`)
	s.Await("up")
	s.Typed("hello\n")
	s.Await("got <hello>")
	s.Typed("again\n")
	s.Await("and <again>")
	e2e.WantExit(t, cmd, 0)
}

func TestTerminalInterrupt(t *testing.T) {
	path := e2e.StartGateway(t)
	for _, tt := range []struct{ name, script string }{
		{"before it reads", `echo up; while :; do sleep 0.01; done`},
		{"while it reads", `echo up; read x; echo never`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, cmd := e2e.OnTerminal(t, path, "run", "nightly", "--", "sh", "-c", tt.script)
			s.Await("up")
			s.Typed("\x03")
			e2e.WantExit(t, cmd, 130)
		})
	}
}

// Ctrl-Z stops the command and this process, for the shell to see; both go on
// with it, and the lock is held all the while.
func TestTerminalSuspend(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		reads        bool
	}{
		// It starts nothing: a shell in vfork(2) does not stop before the process
		// that it starts goes on, and that one is stopped.
		{"before it reads", `echo up $$.; i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done; read x; echo "got <$x>"`, false},
		{"while it reads", `echo up $$.; read x; echo "got <$x>"`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, cmd := e2e.StartOnTerminal(t, e2e.StartGateway(t), "bash", "-c",
				`set -m; lockgw run nightly --ttl 6s -- sh -c "$0"; jobs; sleep 6.5; fg`, tt.script) // longer than the lease, whose end run knew of
			s.Await(`up \d+\.`)
			if tt.reads {
				pid := regexp.MustCompile(`\d+`).FindString(s.Shown())
				e2e.Until(func() bool { return readsTerminal(t, pid) })
			}
			s.Typed("\x1a")
			s.Await("Stopped")
			s.Typed("back\n")
			s.Await("got <back>")
			e2e.WantExit(t, cmd, 0)
		})
	}
}

// Where no shell would see that it stands still, and wake it, Ctrl-Z stops nothing, as without
// lockgw.
func TestTerminalWithoutAShell(t *testing.T) {
	s, cmd := e2e.OnTerminal(t, e2e.StartGateway(t), "run", "nightly", "--", "sh", "-c",
		`trap 'echo again' CONT; echo up; while :; do :; done`) // starts nothing, as above
	s.Await("up")
	s.Typed("\x1a")
	s.Await("again")
	s.Typed("\x03")
	var status syscall.WaitStatus
	e2e.Until(func() bool {
		pid, err := syscall.Wait4(cmd.Process.Pid, &status, unix.WUNTRACED|unix.WNOHANG, nil)
		return pid != 0 || err != nil
	})
	if !status.Exited() || status.ExitStatus() != 130 {
		t.Errorf("status %#x of the run, want exit code 130", status)
	}
}

// Whoever stops the command alone, and lets it go on, does not stop the run beside it for good.
func TestStopOfTheCommandAlone(t *testing.T) {
	s, cmd := e2e.StartOnTerminal(t, e2e.StartGateway(t), "bash", "-c",
		`set -m; lockgw run nightly -- sh -c 'echo up $$.; while :; do sleep 0.01; done'; echo "code $?."; kill -KILL %1`)
	s.Await(`up \d+\.`)
	pid, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(s.Shown()))
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT, syscall.SIGTERM} {
		if err := syscall.Kill(-pid, sig); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // for the run to see that it stands still
	}
	s.Await(`code \d+\.`)
	if !strings.Contains(s.Shown(), "code 143.") {
		t.Errorf("terminal shows %q, want that the run has ended with its command", s.Shown())
	}
	_ = cmd.Wait()
}

// The command of a run inside another reads the terminal, too.
func TestTerminalInputNested(t *testing.T) {
	s, cmd := e2e.OnTerminal(t, e2e.StartGateway(t), "run", "a", "--", "lockgw", "run", "b", "--", "sh", "-c", `echo up; read x; echo "got <$x>"`)
	s.Await("up")
	s.Typed("hello\n")
	s.Await("got <hello>")
	e2e.WantExit(t, cmd, 0)
}

// readsTerminal tells whether the process sleeps in the foreground of its terminal.
func readsTerminal(t *testing.T, pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	f := strings.Fields(after) // state, parent, group, session, terminal, group in the foreground
	return f[0] == "S" && f[2] == f[5]
}

// Ctrl-Z counts also where the command stands still because it wants to read, and gets the
// terminal only then.
func TestSuspendAsItBeginsToRead(t *testing.T) {
	cmd := exec.Command("sh", "-c", "kill -TTIN $$; exec sleep 60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &supervisor{p: watchProcess(cmd.Process.Pid)}
	t.Cleanup(func() {
		s.p.signal(syscall.SIGKILL)
		<-s.p.done
	})
	stopped := func(want syscall.Signal) {
		t.Helper()
		select {
		case sig := <-s.p.stops:
			if sig != want {
				t.Fatalf("the command was stopped by %v, want %v", sig, want)
			}
		case <-time.After(e2e.Patience):
			t.Fatalf("the command was not stopped by %v", want)
		}
	}
	stopped(syscall.SIGTTIN)
	s.forward(syscall.SIGTSTP)
	s.readOn()
	stopped(syscall.SIGTSTP)
}

// A job in the background must not take the terminal from its shell: it is
// stopped when it reads, and its shell sees that.
func TestTerminalBackground(t *testing.T) {
	script := `set -m
		lockgw run nightly -- sh -c 'read x; echo "job got <$x>"' &
		until jobs | grep -q Stopped; do sleep 0.01; done
		echo stopped; read y; echo "shell got <$y>"; fg`
	s, cmd := e2e.StartOnTerminal(t, e2e.StartGateway(t), "bash", "-c", script)
	s.Await("stopped")
	s.Typed("one\n")
	s.Await("shell got <one>")
	s.Typed("two\n")
	s.Await("job got <two>")
	e2e.WantExit(t, cmd, 0)
}

// A script gets the terminal back from the command, though it is no shell that
// takes it.
func TestTerminalGivenBack(t *testing.T) {
	s, cmd := e2e.StartOnTerminal(t, e2e.StartGateway(t), "sh", "-c",
		`lockgw run nightly -- sh -c 'read x; echo "command got <$x>"'; read y; echo "script got <$y>"`)
	s.Typed("one\n")
	s.Await("command got <one>")
	s.Typed("two\n")
	s.Await("script got <two>")
	e2e.WantExit(t, cmd, 0)
}

// The wait is one line that is written again, and is gone at the end.
func TestTerminalWait(t *testing.T) {
	path := e2e.StartGateway(t)
	holder := exec.Command("lockgw", "run", "nightly", "--socket", path, "--", "sleep", "60")
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Process.Kill() })
	e2e.Until(func() bool {
		out, _ := exec.Command("lockgw", "ls", "--socket", path).Output()
		return strings.Contains(string(out), "(sleep)")
	})
	s, cmd := e2e.OnTerminal(t, path, "run", "nightly", "--wait", "1m", "--", "echo", "done")
	s.Await(`\r\x1b\[Kwaiting for nightly - held by .* pid \d+ \(sleep\) for \d+s - 1st of 1 - gives up in [1-5]\ds`)
	left := regexp.MustCompile(`gives up in \d+s`)
	e2e.Until(func() bool { return len(counted(left, s.Shown())) > 1 })
	if times := counted(left, s.Shown()); len(times) < 2 {
		t.Errorf("the line is not written again: %v", times)
	}
	if got := strings.Count(s.Shown(), "\n"); got != 0 {
		t.Errorf("the wait has made %d lines, want one that is never ended: %q", got, s.Shown())
	}
	if err := holder.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait()
	s.Await(`\r\x1b\[Klockgw: got nightly after \d+s \(fence \d+\)\r\ndone`)
	e2e.WantExit(t, cmd, 0)
}

// counted are the different matches in text.
func counted(re *regexp.Regexp, text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range re.FindAllString(text, -1) {
		all[m] = true
	}
	return all
}
