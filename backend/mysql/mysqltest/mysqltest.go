// Package mysqltest starts real MariaDB servers for tests, on loopback and for one test each;
// or MySQL servers, where LOCKGW_MYSQLD names the program.
package mysqltest

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/servertest"
)

const startTries = 5 // another process may take the free port first

// Server is a server of its own. Its user is root, without a password, its database locks.
type Server struct {
	Addr string // host:port, on loopback

	t        testing.TB
	dir      string
	settings []string
	whole    bool // its files have no holes
	proc     *servertest.Process
	ended    bool // it was meant to
}

// Start starts a server and waits until it answers. settings are like --max-connections=20,
// and win over the usual ones, by which nothing waits for a disk. The server ends with the
// test.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	return StartWith(t, nil, settings...)
}

// StartWith is Start, but that prepare gets the directory for the server's files before there
// are any, and these are on the disk with all of their bytes; nil does nothing.
func StartWith(t testing.TB, prepare func(dir string), settings ...string) *Server {
	t.Helper()
	s := &Server{t: t, settings: settings, dir: newDir(t), whole: prepare != nil}
	if prepare != nil {
		prepare(s.dir)
	}
	if err := s.fill(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	for try := 1; ; try++ {
		s.Addr = servertest.FreeAddrs(t, 1)[0]
		err := s.launch()
		if err == nil {
			return s
		}
		if try == startTries {
			t.Fatalf("start %s: %v", program.path, err)
		}
	}
}

// Real says that servers of MySQL are started, not of MariaDB.
func Real() bool { return os.Getenv(variable) != "" }

// URL is the server's address as lockgw takes it.
func (s *Server) URL() string { return s.At("root", "locks") }

// At is URL of another user, or database.
func (s *Server) At(login, database string) string {
	return "mysql://" + login + "@" + s.Addr + "/" + database + "?ssl-mode=disabled"
}

// Dir is where the server's files are: data, and what tests put beside it.
func (s *Server) Dir() string { return s.dir }

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Kill ends the server at once, as a crash of the machine would but that the kernel has what
// was written. One that has ended by itself fails the test.
func (s *Server) Kill() {
	if s.proc == nil {
		return
	}
	if !s.proc.Running() && !s.ended {
		s.t.Errorf("the server has ended by itself: %s", s.proc.Last())
	}
	s.ended = true
	s.proc.Kill()
}

// Stop ends the server in an orderly way; its clients are cut off.
func (s *Server) Stop() {
	s.t.Helper()
	s.ended = true
	s.proc.Signal(s.t, syscall.SIGTERM)
	s.proc.Ended(s.t)
}

// Launch starts a server that was stopped or killed, at the same address.
func (s *Server) Launch() {
	s.t.Helper()
	if err := s.launch(); err != nil {
		s.t.Fatalf("start the server again: %v", err)
	}
}

// Restart kills the server and starts it again at the same address, with what it has on its
// disk.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.Launch()
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
		err = copyDir(from, to, s.whole)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// Set adds settings for the next start.
func (s *Server) Set(settings ...string) { s.settings = append(s.settings, settings...) }

// Pause stops the server; its connections stay open.
func (s *Server) Pause() { s.t.Helper(); s.proc.Pause(s.t) }

// Resume has a paused server go on.
func (s *Server) Resume() { s.t.Helper(); s.proc.Resume(s.t) }

// initial is what a server carries out when it starts.
const initial = `CREATE DATABASE IF NOT EXISTS locks;
CREATE USER IF NOT EXISTS root@'127.0.0.1';
GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;
`

func (s *Server) launch() error {
	_, port, _ := net.SplitHostPort(s.Addr)
	file := filepath.Join(s.dir, "init.sql")
	if err := os.WriteFile(file, []byte(initial), 0o644); err != nil {
		return err
	}
	own, err := ownTemp(s.dir)
	if err != nil {
		return err
	}
	args := append([]string{"--no-defaults", own}, usual()...)
	args = append(args,
		"--datadir="+s.data(), "--port="+port, "--bind-address=127.0.0.1", "--skip-name-resolve", "--init-file="+file,
		"--socket="+filepath.Join(s.dir, "s.sock"), "--pid-file="+filepath.Join(s.dir, "pid"), "--max-connections=400")
	proc, err := servertest.Launch(exec.Command(program.path, append(args, s.settings...)...))
	if err != nil {
		return err
	}
	s.proc = proc
	err = proc.Ready(s.greets)
	s.ended = err != nil // which says why
	return err
}

// greets: the server takes connections, and says so in the tenth version of the protocol.
func (s *Server) greets() bool {
	c, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	var head [5]byte
	_ = c.SetDeadline(time.Now().Add(5 * time.Second)) // on a connection that is new
	_, err = io.ReadFull(c, head[:])
	return err == nil && head[4] == 10
}
