// Package zktest starts real ZooKeeper servers for tests, on loopback: alone, or as an
// ensemble.
package zktest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/servertest"
)

const (
	startTimeout = 60 * time.Second

	// Tick of the servers, in milliseconds.
	tick = 200
	// program is that of Debian's libzookeeper-java. It names what else it needs, but for two
	// parts of Netty that TLS takes, and for what writes down why a server ends.
	program   = "/usr/share/java/zookeeper.jar"
	classPath = program + ":/usr/share/java/netty-codec.jar:/usr/share/java/netty-resolver.jar:/usr/share/java/slf4j-simple.jar"
)

// Settings are those of an URL for servers that have this tick, and Brief those for sessions
// that are to end in a test: of 3 s, which a busy machine may end in any other.
const (
	Settings = "session=15s&tick=200ms"
	Brief    = "session=3s&tick=200ms"
)

// Server is a ZooKeeper process of its own.
type Server struct {
	servertest.Keeper

	id     int
	secure bool // Addr speaks TLS
	base   string
	config string

	release func() // the ports of all members; nil: of another one
}

// shared is the server of a test process.
var shared struct {
	sync.Mutex // guards the field below
	server     *Server
}

// Shared is one server for all tests of the process that do not disturb it, each with a
// chroot of its own. It ends with End, or with the process.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		return shared.server
	}
	servers, err := ensemble(1, "", nothing)
	if err != nil {
		t.Fatalf("start ZooKeeper: %v", err)
	}
	shared.server = servers[0]
	return shared.server
}

// End ends the shared server. It is for TestMain.
func End() {
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		shared.server.remove()
		shared.server = nil
	}
}

// Start starts one ZooKeeper and waits until it serves. It ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	return StartEnsemble(t, 1)[0]
}

// StartWith is Start, but that prepare gets the directory of the data before there are any.
func StartWith(t testing.TB, prepare func(dir string)) *Server {
	t.Helper()
	return started(t, 1, "", prepare)[0]
}

// StartDurable is Start, but that a write waits for the disk.
func StartDurable(t testing.TB) *Server {
	t.Helper()
	return started(t, 1, "forceSync=yes\n", nothing)[0]
}

// StartQuotas is Start, but that quotas count.
func StartQuotas(t testing.TB) *Server {
	t.Helper()
	return started(t, 1, "enforceQuota=true\n", nothing)[0]
}

// StartLocal starts an ensemble whose sessions are known to one member each.
func StartLocal(t testing.TB) []*Server {
	t.Helper()
	return started(t, 3, "localSessionsEnabled=true\n", nothing)
}

// StartTLS is Start with TLS. The server shows the certificate that the PEM files have when it
// starts, and asks clients for it.
func StartTLS(t testing.TB, certFile, keyFile string) *Server {
	t.Helper()
	both := filepath.Join(t.TempDir(), "both.pem")
	join := func() error {
		cert, err := os.ReadFile(certFile)
		key, err2 := os.ReadFile(keyFile)
		return errors.Join(err, err2, os.WriteFile(both, append(key, cert...), 0o600))
	}
	if err := join(); err != nil {
		t.Fatal(err)
	}
	s := started(t, 1, strings.Join([]string{
		"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
		"ssl.keyStore.location=" + both, "ssl.trustStore.location=" + both, "",
	}, "\n"), nothing)[0]
	s.Command = func() (*exec.Cmd, error) {
		if err := join(); err != nil {
			return nil, err
		}
		return s.command()
	}
	return s
}

// StartEnsemble starts n members of one ZooKeeper, and waits until they serve.
func StartEnsemble(t testing.TB, n int) []*Server {
	t.Helper()
	return started(t, n, "", nothing)
}

func nothing(string) {}

func started(t testing.TB, n int, config string, prepare func(dir string)) []*Server {
	t.Helper()
	servers, err := ensemble(n, config, prepare)
	if err != nil {
		t.Fatalf("start ZooKeeper: %v", err)
	}
	for _, s := range servers {
		s.T = t
		t.Cleanup(s.remove)
	}
	return servers
}

func ensemble(n int, config string, prepare func(dir string)) (servers []*Server, err error) {
	if _, err := os.Stat(program); err != nil {
		return nil, errors.New("these tests need ZooKeeper: apt-get install libzookeeper-java default-jre-headless")
	}
	err = servertest.Tries(func() (err error) {
		if servers, err = start(n, config, prepare); err != nil {
			for _, s := range servers {
				s.remove()
			}
		}
		return err
	})
	return servers, err
}

func start(n int, config string, prepare func(dir string)) (servers []*Server, err error) {
	// A member that finds its port taken stays without a word.
	ports, release, err := servertest.FreePorts(3 * n)
	if err != nil {
		return nil, err
	}
	all := ""
	for i := range n {
		base, err := os.MkdirTemp("", "lockgw-zktest-")
		if err != nil {
			return servers, err
		}
		s := &Server{id: i + 1, base: base, secure: strings.Contains(config, "ssl.")}
		s.Keeper = servertest.Keeper{Product: "ZooKeeper", Addr: fmt.Sprintf("127.0.0.1:%d", ports[3*i]), Data: filepath.Join(base, "data"), Command: s.command, Answers: s.answers}
		if servers = append(servers, s); i == 0 {
			s.release = release
		}
		if n > 1 {
			all += fmt.Sprintf("server.%d=127.0.0.1:%d:%d\n", i+1, ports[3*i+1], ports[3*i+2])
		}
	}
	for i, s := range servers {
		port := "clientPort"
		if s.secure {
			port = "secureClientPort"
		}
		s.config = fmt.Sprintf("tickTime=%d\ninitLimit=50\nsyncLimit=10\ndataDir=%s\nmaxSessionTimeout=60000\n%s=%d\n%sAddress=127.0.0.1\nadmin.enableServer=false\n"+
			"4lw.commands.whitelist=*\nmaxClientCnxns=0\nforceSync=no\n%s%s", tick, s.Data, port, ports[3*i], port, all, config)
		if err := os.MkdirAll(s.Data, 0o700); err != nil {
			return servers, err
		}
		prepare(s.Data)
		if err := s.Begin(); err != nil {
			return servers, err
		}
	}
	for _, s := range servers {
		if err := s.Ready(); err != nil {
			return servers, err
		}
	}
	return servers, nil
}

func (s *Server) remove() {
	s.Kill()
	if s.release != nil {
		s.release()
	}
	_ = os.RemoveAll(s.base)
}

func (s *Server) command() (*exec.Cmd, error) {
	if err := os.MkdirAll(s.Data, 0o700); err != nil {
		return nil, err
	}
	cfg := filepath.Join(s.base, "zoo.cfg")
	err := errors.Join(os.WriteFile(cfg, []byte(s.config), 0o600), os.WriteFile(filepath.Join(s.Data, "myid"), fmt.Append(nil, s.id), 0o600))
	if err != nil {
		return nil, err
	}
	// What costs a JVM time at its start is left out.
	args := []string{
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-Xmx96m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Djava.net.preferIPv4Stack=true",
		"-cp", classPath, "org.apache.zookeeper.server.quorum.QuorumPeerMain", cfg,
	}
	return exec.Command("java", args...), nil
}
