package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Screen is a terminal and what was written on it.
type Screen struct {
	t      *testing.T
	master *os.File

	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func openScreen(t *testing.T) (s *Screen, slave *os.File) {
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
	s = &Screen{t: t, master: master}
	var wg sync.WaitGroup
	wg.Go(s.read)
	t.Cleanup(func() {
		slave.Close()
		master.Close()
		wg.Wait()
	})
	return s, slave
}

func (s *Screen) read() {
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

// Shown is all that was written on it.
func (s *Screen) Shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Await waits for what matches pattern.
func (s *Screen) Await(pattern string) {
	s.t.Helper()
	want := regexp.MustCompile(pattern)
	Until(func() bool { return want.MatchString(s.Shown()) })
	if got := s.Shown(); !want.MatchString(got) {
		s.t.Fatalf("terminal shows %q, want a match for %q", got, pattern)
	}
}

// Typed types text.
func (s *Screen) Typed(text string) {
	s.t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		s.t.Fatalf("type %q: %v", text, err)
	}
}

// OnTerminal starts lockgw as the foreground of a terminal of its own.
func OnTerminal(t *testing.T, path string, args ...string) (*Screen, *exec.Cmd) {
	t.Helper()
	return StartOnTerminal(t, path, "lockgw", args...)
}

// StartOnTerminal starts the program name as the foreground of a terminal of its own.
func StartOnTerminal(t *testing.T, path, name string, args ...string) (*Screen, *exec.Cmd) {
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
