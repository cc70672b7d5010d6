// Package pgtest starts real PostgreSQL servers for tests, on loopback and for one test
// each.
package pgtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/servertest"
)

const (
	startTimeout = time.Minute
	startTries   = 5 // another process may take the free port first
)

// Server is a PostgreSQL server of its own. Its user is postgres, without a password, its
// database postgres.
type Server struct {
	Addr string // host:port, on loopback

	t        testing.TB
	dir      string
	settings []string
	proc     *servertest.Process
}

// Start starts a server and waits until it answers. settings are like max_connections=20,
// and win over the usual ones, of which one is fsync=off. The server ends with the test.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	return StartWith(t, nil, settings...)
}

// StartWith is Start, but that prepare gets the directory for the server's files before there
// are any; nil does nothing.
func StartWith(t testing.TB, prepare func(dir string), settings ...string) *Server {
	t.Helper()
	s := &Server{t: t, settings: settings, dir: newDir(t)}
	if prepare != nil {
		prepare(s.dir)
		s.Own(s.dir)
	}
	if err := s.fill(); err != nil {
		t.Fatal(err)
	}
	return s.start()
}

func (s *Server) start() *Server {
	s.t.Helper()
	s.t.Cleanup(s.Kill)
	for try := 1; ; try++ {
		s.Addr = servertest.FreeAddrs(s.t, 1)[0]
		err := s.launch()
		if err == nil {
			return s
		}
		if try == startTries {
			s.t.Fatalf("start postgres: %v", err)
		}
	}
}

// URL is the server's address as lockgw takes it.
func (s *Server) URL() string {
	return "postgres://postgres@" + s.Addr + "/postgres?sslmode=disable"
}

// Dir is where the server's files are: data, and what tests put beside it.
func (s *Server) Dir() string { return s.dir }

// Own gives a file to the user that the server runs as.
func (s *Server) Own(path string) {
	s.t.Helper()
	if err := own(path); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Kill ends the server and all its processes at once, as a crash of the machine would but
// that the kernel has what was written.
func (s *Server) Kill() {
	if s.proc == nil {
		return
	}
	children := s.children()
	s.proc.Kill(children...)
	for _, pid := range children { // its shared memory is in use until they are gone
		for i := 0; !servertest.Over(pid) && i < 1000; i++ {
			time.Sleep(2 * time.Millisecond)
		}
	}
}

// Stop ends the server in an orderly way; its clients are cut off.
func (s *Server) Stop() {
	s.t.Helper()
	s.proc.Signal(s.t, syscall.SIGINT)
	s.proc.Ended(s.t)
}

// Launch starts a server that was stopped or killed, at the same address.
func (s *Server) Launch() {
	s.t.Helper()
	if err := s.launch(); err != nil {
		s.t.Fatalf("start postgres again: %v", err)
	}
}

// Restart kills the server and starts it again at the same address, with what it has on
// its disk.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.Launch()
}

// Revive launches a server that may have ended by itself.
func (s *Server) Revive() {
	s.t.Helper()
	for end := time.Now().Add(startTimeout); ; time.Sleep(10 * time.Millisecond) {
		status, _ := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
		switch {
		case !s.proc.Running():
			s.Launch()
			return
		case strings.HasSuffix(strings.TrimSpace(string(status)), "ready"):
			return
		case time.Now().After(end):
			s.t.Fatalf("postgres does not recover: %s", status)
		}
	}
}

// RestartEmpty is Restart, and the disk is lost.
func (s *Server) RestartEmpty() {
	s.t.Helper()
	s.Kill()
	err := os.RemoveAll(s.data())
	if err == nil {
		err = s.fill()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.Launch()
}

// Copy takes a copy of the disk of a server that is not running; Restore puts it back.
func (s *Server) Copy() { s.copyData(s.data(), s.data()+".copy") }

// Restore puts the copy in the place of what is on the disk.
func (s *Server) Restore() { s.copyData(s.data()+".copy", s.data()) }

func (s *Server) copyData(from, to string) {
	s.t.Helper()
	err := os.RemoveAll(to)
	if err == nil {
		err = copyDir(from, to)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// Standby starts a server that follows this one.
func (s *Server) Standby(settings ...string) *Server {
	s.t.Helper()
	host, port, _ := net.SplitHostPort(s.Addr)
	b := &Server{t: s.t, dir: newDir(s.t), settings: settings}
	cmd := command(b.t, "pg_basebackup", "-h", host, "-p", port, "-U", "postgres", "-D", b.data(), "-R", "-c", "fast", "-X", "stream")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("pg_basebackup: %v: %s", err, out)
	}
	return b.start()
}

// Promote has a standby take over.
func (s *Server) Promote() {
	s.t.Helper()
	if out, err := command(s.t, "pg_ctl", "promote", "-w", "-D", s.data()).CombinedOutput(); err != nil {
		s.t.Fatalf("pg_ctl promote: %v: %s", err, out)
	}
}

// Pause stops all processes of the server; its connections stay open.
func (s *Server) Pause() { s.t.Helper(); s.proc.Pause(s.t, s.children()...) }

// Resume has a paused server go on.
func (s *Server) Resume() { s.t.Helper(); s.proc.Resume(s.t, s.children()...) }

// children are the processes that the server has started: each has a process group of its
// own.
func (s *Server) children() (pids []int) {
	pid := s.proc.Pid()
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for field := range strings.FieldsSeq(string(text)) {
		if n, err := strconv.Atoi(field); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}

func (s *Server) launch() error {
	_, port, _ := net.SplitHostPort(s.Addr)
	usual := []string{
		"listen_addresses=127.0.0.1", "port=" + port, "unix_socket_directories=" + s.dir, "fsync=off", "shared_buffers=16MB",
		"max_connections=100", "autovacuum=off", "logging_collector=off",
	}
	args := []string{"-D", s.data()}
	for _, one := range slices.Concat(usual, s.settings) {
		args = append(args, "-c", one)
	}
	var err error
	if s.proc, err = servertest.Launch(command(s.t, "postgres", args...)); err != nil {
		return err
	}
	return s.proc.Ready(func() bool { return s.takesConnections(port) })
}

// takesConnections: the last line of the file says so.
func (s *Server) takesConnections(port string) bool {
	status, _ := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	lines := strings.Split(strings.TrimSpace(string(status)), "\n")
	return len(lines) == 8 && lines[0] == strconv.Itoa(s.proc.Pid()) && lines[3] == port &&
		slices.Contains([]string{"ready", "standby"}, strings.TrimSpace(lines[7]))
}

// Crash ends one backend as a defect in it would, whereupon the server ends all others and
// recovers, without being started anew.
func (s *Server) Crash(pid int) {
	s.t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSEGV); err != nil {
		s.t.Fatal(err)
	}
}

// Set adds settings for the next start.
func (s *Server) Set(settings ...string) { s.settings = append(s.settings, settings...) }

// HBA puts lines before all others of pg_hba.conf.
func (s *Server) HBA(lines ...string) {
	s.t.Helper()
	path := filepath.Join(s.data(), "pg_hba.conf")
	old, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"+string(old)), 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	if s.proc.Running() {
		s.proc.Signal(s.t, syscall.SIGHUP)
	}
}

// Command is one that runs as the user of the server.
func (s *Server) Command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	asServer(cmd)
	return cmd
}
