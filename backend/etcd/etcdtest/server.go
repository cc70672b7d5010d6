// Package etcdtest starts real etcd servers for tests, on loopback and for one test each:
// alone, or as an ensemble.
package etcdtest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/lockgw/lockgw/backend/servertest"
)

const startTimeout = time.Minute

// Server is an etcd process of its own.
type Server struct {
	servertest.Keeper

	name string
	peer string // host:port for the other members
	all  string // the members, as --initial-cluster has them
	args []string
	tls  func() *tls.Config // of a client; nil: the server has none
}

// Start starts one etcd and waits until it serves. args are further arguments. It ends with
// the test.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return StartEnsemble(t, 1, args...)[0]
}

// StartWith is Start, but that prepare gets the directory of the data before there are any.
func StartWith(t testing.TB, prepare func(dir string), args ...string) *Server {
	t.Helper()
	return ensemble(t, 1, args, nil, prepare)[0]
}

func nothing(string) {}

// StartTLS is Start with TLS. The server shows the certificate, and asks for one of the same
// authority, which is the certificate itself.
func StartTLS(t testing.TB, cert, key string) *Server {
	t.Helper()
	client := func() *tls.Config {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AddCert(pair.Leaf)
		return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}
	}
	args := []string{"--cert-file", cert, "--key-file", key, "--trusted-ca-file", cert, "--client-cert-auth"}
	return ensemble(t, 1, args, client, nothing)[0]
}

// StartEnsemble starts n members of one etcd, and waits until they serve.
func StartEnsemble(t testing.TB, n int, args ...string) []*Server {
	t.Helper()
	return ensemble(t, n, args, nil, nothing)
}

func ensemble(t testing.TB, n int, args []string, tls func() *tls.Config, prepare func(dir string)) (servers []*Server) {
	t.Helper()
	err := servertest.Tries(func() (err error) {
		servers, err = start(t, n, args, tls, prepare)
		return err
	})
	if err != nil {
		t.Fatalf("start etcd: %v", err)
	}
	return servers
}

func start(t testing.TB, n int, args []string, tls func() *tls.Config, prepare func(dir string)) (servers []*Server, err error) {
	t.Helper()
	ports := servertest.FreeAddrs(t, 2*n)
	var all []string
	for i := range n {
		s := &Server{peer: ports[2*i+1], name: fmt.Sprintf("m%d", i), args: args, tls: tls}
		s.Keeper = servertest.Keeper{T: t, Product: "etcd", Addr: ports[2*i], Data: filepath.Join(t.TempDir(), "data"), Command: s.command, Answers: s.answers}
		all = append(all, s.name+"=http://"+s.peer)
		servers = append(servers, s)
	}
	for _, s := range servers {
		s.all = strings.Join(all, ",")
		t.Cleanup(s.Kill)
		if err := os.MkdirAll(s.Data, 0o700); err != nil {
			return nil, err
		}
		prepare(s.Data)
		if err := s.Begin(); err != nil {
			return nil, err
		}
	}
	for _, s := range servers {
		if err := s.Ready(); err != nil {
			for _, s := range servers {
				s.Kill()
			}
			return nil, err
		}
	}
	return servers, nil
}

// StartLearner starts a member that learns from servers, which take one without a check of
// their own: --strict-reconfig-check=false.
func StartLearner(t testing.TB, servers ...*Server) *Server {
	t.Helper()
	ports := servertest.FreeAddrs(t, 2)
	s := &Server{name: "learner", peer: ports[1], args: []string{"--initial-cluster-state", "existing"}}
	s.all = servers[0].all + "," + s.name + "=http://" + s.peer
	s.Keeper = servertest.Keeper{T: t, Product: "etcd", Addr: ports[0], Data: filepath.Join(t.TempDir(), "data"), Command: s.command, Answers: s.answers}
	if _, err := Client(t, servers...).MemberAddAsLearner(t.Context(), []string{"http://" + s.peer}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	if err := errors.Join(s.Begin(), s.Ready()); err != nil {
		t.Fatal(err)
	}
	return s
}

// URL is the address as lockgw takes it, of one server or of several.
func URL(servers ...*Server) string {
	var addrs []string
	for _, s := range servers {
		addrs = append(addrs, s.Addr)
	}
	return "etcd://" + strings.Join(addrs, ",")
}

// Client returns a client of the servers. It is closed with the test.
func Client(t testing.TB, servers ...*Server) *clientv3.Client {
	t.Helper()
	cfg := clientv3.Config{Logger: zap.NewNop(), DialTimeout: time.Second}
	for _, s := range servers {
		cfg.Endpoints, cfg.TLS = append(cfg.Endpoints, s.url()), s.config()
	}
	c, err := clientv3.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *Server) config() *tls.Config {
	if s.tls == nil {
		return nil
	}
	return s.tls()
}

func (s *Server) url() string {
	if s.tls != nil {
		return "https://" + s.Addr
	}
	return "http://" + s.Addr
}

// Leader is the member that leads, of servers that all run.
func Leader(t testing.TB, servers []*Server) *Server {
	t.Helper()
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, s := range servers {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			st, err := Client(t, s).Status(ctx, "http://"+s.Addr)
			cancel()
			if err == nil && st.Leader == st.Header.MemberId {
				return s
			}
		}
	}
	t.Fatal("nobody leads")
	return nil
}

func (s *Server) command() (*exec.Cmd, error) {
	path, err := exec.LookPath("etcd")
	if err != nil {
		return nil, errors.New("these tests need an etcd: apt-get install etcd-server")
	}
	client, peer := s.url(), "http://"+s.peer
	args := append([]string{
		"--name", s.name, "--data-dir", s.Data, "--logger", "zap", "--log-level", "error",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", s.all,
		// So that a lease may be as short as a second.
		"--heartbeat-interval", "60", "--election-timeout", "600",
	}, s.args...)
	return exec.Command(path, args...), nil
}

// answers: any answer will do, for one that asks for a user is ready, too.
func (s *Server) answers() bool {
	c, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return false
	}
	_ = c.Close()
	st, err := clientv3.New(clientv3.Config{Endpoints: []string{s.url()}, TLS: s.config(), Logger: zap.NewNop()})
	if err != nil {
		return false
	}
	defer st.Close()
	ctx, cancel := context.WithTimeout(s.T.Context(), time.Second)
	defer cancel()
	a, err := st.Status(ctx, s.url())
	return err == nil && a.Leader != 0
}
