// Package mysqltest starts real MariaDB servers for tests, on loopback and for one test each;
// or MySQL servers, where LOCKGW_MYSQLD names the program.
package mysqltest

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	startTimeout = 60 * time.Second
	startTries   = 5 // another process may take the free port first
)

// Server is a server of its own. Its user is root, without a password, its database locks.
type Server struct {
	Addr string // host:port, on loopback

	t        testing.TB
	dir      string
	settings []string
	whole    bool // its files have no holes
	cmd      *exec.Cmd
	output   bytes.Buffer  // of cmd; read it only after exited
	exited   chan struct{} // closed when cmd is gone
	ended    bool          // it was meant to
}

func (s *Server) running() bool {
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
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
		s.Addr = freeAddr(t)
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
// was written.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	if !s.running() && !s.ended {
		s.t.Errorf("the server has ended by itself (%v) and printed: %s", s.cmd.ProcessState, s.output.String())
	}
	s.ended = true
	_ = s.cmd.Process.Kill() // fails only when it is gone already
	<-s.exited
}

// Stop ends the server in an orderly way; its clients are cut off.
func (s *Server) Stop() {
	s.t.Helper()
	s.ended = true
	s.signal(syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(startTimeout):
		s.t.Fatal("the server does not stop")
	}
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
func (s *Server) Pause() {
	s.signal(syscall.SIGSTOP)
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if s.stopped() {
			return
		}
		if time.Now().After(end) {
			s.t.Fatal("the server does not stop")
		}
	}
}

// stopped: none of its threads runs.
func (s *Server) stopped() bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, path := range threads {
		// PID (COMMAND) STATE ...; a thread that has ended meanwhile does not run
		if stat, err := os.ReadFile(path); err == nil && !strings.HasPrefix(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " T") {
			return false
		}
	}
	return true
}

// Resume has a paused server go on.
func (s *Server) Resume() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("send %v to the server: %v", sig, err)
	}
}

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
	s.output.Reset()
	s.cmd = exec.Command(program.path, append(args, s.settings...)...)
	s.cmd.SysProcAttr = dieWithParent()
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return err
	}
	cmd, exited := s.cmd, make(chan struct{})
	s.exited, s.ended = exited, false
	go func() {
		defer close(exited)
		_ = cmd.Wait() // it is killed, or launch tells what it printed
	}()
	return s.waitReady()
}

func (s *Server) waitReady() error {
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); {
		select {
		case <-s.exited:
			return fmt.Errorf("it has exited and printed: %s", s.output.String())
		default:
		}
		if s.greets() {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.Kill()
	return fmt.Errorf("not ready in %v, it printed: %s", startTimeout, s.output.String())
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
