// Package redistest starts real Redis servers for tests, on loopback and for one
// test each, and a proxy that breaks the network between them and their clients.
package redistest

import (
	"bufio"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockgw/lockgw/backend/servertest"
)

const (
	startTries = 5 // another process may take the free port first
)

// Server is a redis-server process of its own.
type Server struct {
	Addr   string // host:port, on loopback
	Socket string // path of its Unix socket

	t      testing.TB
	dir    string
	config string // a file that comes before all else; "": none
	args   []string
	ctl    *goredis.Client // of this package's own
	proc   *servertest.Process
}

// Start starts a redis-server that keeps nothing on disk and waits until it
// answers. args are further command line arguments, which win over the usual
// ones. The server ends with the test.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return StartWith(t, func(string) {}, args...)
}

// StartWith is Start, but that prepare gets the directory for the server's files before there
// are any.
func StartWith(t testing.TB, prepare func(dir string), args ...string) *Server {
	t.Helper()
	dir := t.TempDir()
	prepare(dir)
	return start(&Server{Socket: filepath.Join(dir, "redis.sock"), t: t, dir: dir, args: args})
}

// Dir is where the server's files are.
func (s *Server) Dir() string { return s.dir }

func start(s *Server) *Server {
	t := s.t
	t.Helper()
	t.Cleanup(s.Kill)
	for try := 1; ; try++ {
		s.Addr = servertest.FreeAddrs(t, 1)[0]
		err := s.launch()
		if err == nil {
			return s
		}
		if try == startTries {
			t.Fatalf("start redis-server: %v", err)
		}
	}
}

// URL is the server's address as go-redis and lockgw take it.
func (s *Server) URL() string { return "redis://" + s.Addr }

// Patient is url with the timeouts of a client that waits for an answer however busy the
// machine is.
func Patient(url string) string {
	return url + "?dial_timeout=1m&read_timeout=1m&write_timeout=1m"
}

func (s *Server) port() string {
	_, port, _ := net.SplitHostPort(s.Addr)
	return port
}

// Client returns a client that sends each command once. It is closed with the test.
func (s *Server) Client() *goredis.Client {
	c := goredis.NewClient(&goredis.Options{
		Addr:                     s.Addr,
		MaxRetries:               -1,
		ContextTimeoutEnabled:    true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// control is the client by which this package steers the server.
func (s *Server) control() *goredis.Client {
	if s.ctl == nil {
		s.ctl = s.Client()
	}
	return s.ctl
}

// Kill ends the server at once, as kill -9 does, and waits until it is gone.
func (s *Server) Kill() { s.proc.Kill() }

// Restart kills the server and starts it again at the same addresses, empty.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	if err := s.launch(); err != nil {
		s.t.Fatalf("restart redis-server: %v", err)
	}
}

// RestartEmpty is Restart for a server that keeps something on its disk, which is lost.
func (s *Server) RestartEmpty() {
	s.t.Helper()
	s.Kill()
	s.empty()
	s.Restart()
}

func (s *Server) empty() {
	s.t.Helper()
	entries, err := os.ReadDir(s.dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir, e.Name())))
	}
	if err != nil {
		s.t.Fatalf("empty the directory of redis-server: %v", err)
	}
}

// Copy kills the server, copies what it has on its disk, and starts it again: a directory for
// Restore.
func (s *Server) Copy() string {
	s.t.Helper()
	s.Kill()
	_ = os.Remove(s.Socket) // it is no file that can be copied
	dir := filepath.Join(s.t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(s.dir)); err != nil {
		s.t.Fatal(err)
	}
	s.Restart()
	return dir
}

// Restore is Restart with what was copied.
func (s *Server) Restore(from string) {
	s.t.Helper()
	s.Kill()
	s.empty()
	if err := os.CopyFS(s.dir, os.DirFS(from)); err != nil {
		s.t.Fatal(err)
	}
	s.Restart()
}

// Pause stops the server's process; its connections stay open.
func (s *Server) Pause() { s.t.Helper(); s.proc.Pause(s.t) }

// Resume continues a paused server.
func (s *Server) Resume() { s.t.Helper(); s.proc.Resume(s.t) }

func (s *Server) launch() error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		s.t.Fatal("these tests need a Redis server: apt-get install redis-server")
	}
	args := []string{"--bind", "127.0.0.1", "--port", s.port(), "--unixsocket", s.Socket, "--dir", s.dir}
	if s.config == "" {
		args = append(args, "--save", "", "--appendonly", "no", "--enable-debug-command", "local")
	} else {
		args = append([]string{s.config}, args...)
	}
	if s.proc, err = servertest.Launch(exec.Command(path, append(args, s.args...)...)); err != nil {
		return err
	}
	return s.proc.Ready(func() bool { return answers(s.Addr) })
}

// answers: any reply will do, for one that asks for a password is ready too.
func answers(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	if _, err := c.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	return err == nil && !strings.HasPrefix(line, "-LOADING")
}

// CommandStats returns how often the server has run each command, by its name in
// lower case, "client|list" for the one of a family. INFO counts itself.
func (s *Server) CommandStats(t testing.TB) map[string]int64 {
	t.Helper()
	info, err := s.Client().Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatalf("INFO commandstats: %v", err)
	}
	calls := map[string]int64{}
	for line := range strings.Lines(info) {
		name, stats, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "cmdstat_"), ":calls=")
		if !ok {
			continue
		}
		n, _, _ := strings.Cut(stats, ",")
		if calls[name], err = strconv.ParseInt(n, 10, 64); err != nil {
			t.Fatalf("INFO commandstats: line %q: %v", line, err)
		}
	}
	return calls
}
