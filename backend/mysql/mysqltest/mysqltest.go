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

// Server is a server of its own. Its user is root, without a password, its database locks.
type Server struct {
	servertest.Keeper

	dir      string
	settings []string
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
	s := &Server{dir: servertest.NewDir(t), settings: settings}
	holes := "--sparse=always"
	if prepare != nil {
		prepare(s.dir)
		holes = "--sparse=never"
	}
	s.Keeper = servertest.Keeper{
		T: t, Product: "the server", Data: filepath.Join(s.dir, "data"), StopBy: syscall.SIGTERM, Stays: true,
		Command: s.command, Answers: s.greets, Fill: func() error { return fill(s.Data, holes) },
	}
	if err := s.Fill(); err != nil {
		t.Fatal(err)
	}
	s.Keeper.Start()
	return s
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

// Set adds settings for the next start.
func (s *Server) Set(settings ...string) { s.settings = append(s.settings, settings...) }

// initial is what a server carries out when it starts.
const initial = `CREATE DATABASE IF NOT EXISTS locks;
CREATE USER IF NOT EXISTS root@'127.0.0.1';
GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;
`

func (s *Server) command() (*exec.Cmd, error) {
	path, err := program()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(s.Addr)
	file := filepath.Join(s.dir, "init.sql")
	if err := os.WriteFile(file, []byte(initial), 0o644); err != nil {
		return nil, err
	}
	args, err := usual(s.dir)
	if err != nil {
		return nil, err
	}
	args = append(args,
		"--port="+port, "--bind-address=127.0.0.1", "--skip-name-resolve", "--init-file="+file,
		"--socket="+filepath.Join(s.dir, "s.sock"), "--pid-file="+filepath.Join(s.dir, "pid"), "--max-connections=400")
	return exec.Command(path, append(args, s.settings...)...), nil
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
