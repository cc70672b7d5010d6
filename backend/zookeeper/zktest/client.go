package zktest

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// URL is the address as lockgw takes it, of one server or of several, below chroot.
func URL(chroot string, servers ...*Server) string {
	var addrs []string
	for _, s := range servers {
		addrs = append(addrs, s.Addr)
	}
	return "zookeeper://" + strings.Join(addrs, ",") + "/" + chroot + "?" + Settings
}

// Client returns a client of the servers. It is closed with the test.
func Client(t testing.TB, servers ...*Server) *zk.Conn {
	t.Helper()
	var addrs []string
	for _, s := range servers {
		addrs = append(addrs, s.Addr)
	}
	c, _, err := zk.Connect(addrs, 4*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// Leader is the member that leads, of servers that all run.
func Leader(t testing.TB, servers []*Server) *Server {
	t.Helper()
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, s := range servers {
			if strings.Contains(s.ask("srvr"), "Mode: leader") {
				return s
			}
		}
	}
	t.Fatal("nobody leads")
	return nil
}

// Settled waits until one of the servers leads and all others follow it. One that is killed
// while it joins may refuse to start again.
func Settled(t testing.TB, servers []*Server) {
	t.Helper()
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		leaders, followers := 0, 0
		for _, s := range servers {
			switch mode := s.ask("srvr"); {
			case strings.Contains(mode, "Mode: leader"):
				leaders++
			case strings.Contains(mode, "Mode: follower"):
				followers++
			}
		}
		if leaders == 1 && followers == len(servers)-1 {
			return
		}
	}
	t.Fatal("not all follow one leader")
}

func (s *Server) answers() bool {
	if !s.secure {
		return strings.Contains(s.ask("srvr"), "Mode: ")
	}
	c, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// ask sends a command of four letters.
func (s *Server) ask(command string) string {
	c, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return ""
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(c, command); err != nil {
		return ""
	}
	b, _ := io.ReadAll(c) // what has come
	return string(b)
}
