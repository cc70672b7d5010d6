// Package redistest starts real Redis servers for tests, on loopback and for one
// test each, and a proxy that breaks the network between them and their clients.
package redistest

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockgw/lockgw/backend/servertest"
)

// Server is a redis-server process of its own.
type Server struct {
	servertest.Keeper
	Socket string // path of its Unix socket

	config string // a file that comes before all else; "": none
	args   []string
	ctl    *goredis.Client // of this package's own
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
	return start(t, dir, "", args)
}

func start(t testing.TB, dir, config string, args []string) *Server {
	t.Helper()
	s := &Server{Socket: filepath.Join(dir, "redis.sock"), config: config, args: args}
	s.Keeper = servertest.Keeper{
		T: t, Data: dir, Product: "redis-server", StopBy: syscall.SIGTERM,
		Command: s.command,
		Answers: func() bool { return answers(s.Addr) },
		Fill:    func() error { return os.Mkdir(dir, 0o755) },
	}
	s.Start()
	return s
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
	s.T.Cleanup(func() { _ = c.Close() })
	return c
}

// control is the client by which this package steers the server.
func (s *Server) control() *goredis.Client {
	if s.ctl == nil {
		s.ctl = s.Client()
	}
	return s.ctl
}

// Copy kills the server, copies what it has on its disk, and starts it again: a directory for
// Restore.
func (s *Server) Copy() string {
	s.T.Helper()
	s.Kill()
	_ = os.Remove(s.Socket) // it is no file that can be copied
	dir := s.Keeper.Copy()
	s.Restart()
	return dir
}

func (s *Server) command() (*exec.Cmd, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		s.T.Fatal("these tests need a Redis server: apt-get install redis-server")
	}
	args := []string{"--bind", "127.0.0.1", "--port", s.port(), "--unixsocket", s.Socket, "--dir", s.Data}
	if s.config == "" {
		args = append(args, "--save", "", "--appendonly", "no", "--enable-debug-command", "local")
	} else {
		args = append([]string{s.config}, args...)
	}
	return exec.Command(path, append(args, s.args...)...), nil
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
