// Package pgtest starts real PostgreSQL servers for tests, on loopback and for one test
// each.
package pgtest

import (
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

// Server is a PostgreSQL server of its own. Its user is postgres, without a password, its
// database postgres.
type Server struct {
	servertest.Keeper

	dir      string
	settings []string
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
	s := newServer(t, settings)
	if prepare != nil {
		prepare(s.dir)
		s.Own(s.dir)
	}
	if err := s.Fill(); err != nil {
		t.Fatal(err)
	}
	s.Keeper.Start()
	return s
}

func newServer(t testing.TB, settings []string) *Server {
	t.Helper()
	s := &Server{dir: servertest.NewDir(t), settings: settings}
	s.Keeper = servertest.Keeper{
		T: t, Product: "postgres", Data: filepath.Join(s.dir, "data"), StopBy: syscall.SIGINT,
		Command: s.command, Answers: s.takesConnections, Fill: func() error { return template.CopyTo(s.Data) },
	}
	s.Own(s.dir)
	t.Cleanup(s.release) // after the server was killed, before its files are removed
	return s
}

// URL is the server's address as lockgw takes it.
func (s *Server) URL() string {
	return "postgres://postgres@" + s.Addr + "/postgres?sslmode=disable"
}

// Dir is where the server's files are: data, and what tests put beside it.
func (s *Server) Dir() string { return s.dir }

// Own gives a file to the user that the server runs as.
func (s *Server) Own(path string) {
	s.T.Helper()
	if err := own(path); err != nil {
		s.T.Fatal(err)
	}
}

// Revive launches a server that may have ended by itself.
func (s *Server) Revive() {
	s.T.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		status, _ := os.ReadFile(filepath.Join(s.Data, "postmaster.pid"))
		switch {
		case !s.Running():
			s.Launch()
			return
		case strings.HasSuffix(strings.TrimSpace(string(status)), "ready"):
			return
		case time.Now().After(end):
			s.T.Fatalf("postgres does not recover: %s", status)
		}
	}
}

// Standby starts a server that follows this one.
func (s *Server) Standby(settings ...string) *Server {
	s.T.Helper()
	host, port, _ := net.SplitHostPort(s.Addr)
	b := newServer(s.T, settings)
	cmd := command(s.T, "pg_basebackup", "-h", host, "-p", port, "-U", "postgres", "-D", b.Data, "-R", "-c", "fast", "-X", "stream")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.T.Fatalf("pg_basebackup: %v: %s", err, out)
	}
	b.Keeper.Start()
	return b
}

// Promote has a standby take over.
func (s *Server) Promote() {
	s.T.Helper()
	if out, err := command(s.T, "pg_ctl", "promote", "-w", "-D", s.Data).CombinedOutput(); err != nil {
		s.T.Fatalf("pg_ctl promote: %v: %s", err, out)
	}
}

func (s *Server) command() (*exec.Cmd, error) {
	_, port, _ := net.SplitHostPort(s.Addr)
	usual := []string{
		"listen_addresses=127.0.0.1", "port=" + port, "unix_socket_directories=" + s.dir, "fsync=off", "shared_buffers=16MB",
		"max_connections=100", "autovacuum=off", "logging_collector=off",
	}
	args := []string{"-D", s.Data}
	for _, one := range slices.Concat(usual, s.settings) {
		args = append(args, "-c", one)
	}
	return find("postgres", args...)
}

// takesConnections: the last line of the file says so.
func (s *Server) takesConnections() bool {
	_, port, _ := net.SplitHostPort(s.Addr)
	status, _ := os.ReadFile(filepath.Join(s.Data, "postmaster.pid"))
	lines := strings.Split(strings.TrimSpace(string(status)), "\n")
	return len(lines) == 8 && lines[0] == strconv.Itoa(s.Proc.Pid()) && lines[3] == port &&
		slices.Contains([]string{"ready", "standby"}, strings.TrimSpace(lines[7]))
}

// Crash ends one backend as a defect in it would, whereupon the server ends all others and
// recovers, without being started anew.
func (s *Server) Crash(pid int) {
	s.T.Helper()
	if err := syscall.Kill(pid, syscall.SIGSEGV); err != nil {
		s.T.Fatal(err)
	}
}

// Set adds settings for the next start.
func (s *Server) Set(settings ...string) { s.settings = append(s.settings, settings...) }

// HBA puts lines before all others of pg_hba.conf.
func (s *Server) HBA(lines ...string) {
	s.T.Helper()
	path := filepath.Join(s.Data, "pg_hba.conf")
	old, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"+string(old)), 0o600)
	}
	if err != nil {
		s.T.Fatal(err)
	}
	if s.Running() {
		s.Proc.Signal(s.T, syscall.SIGHUP)
	}
}

// Command is one that runs as the user of the server.
func (s *Server) Command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	asServer(cmd)
	return cmd
}
