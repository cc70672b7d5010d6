package doors

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/backend/servertest"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// network is a network namespace with addresses that are no loopback addresses: other
// machines, as far as the gateway can tell.
type network struct {
	t  testing.TB
	fd int
}

// Addresses of it: the gateway, who attacks and who is attacked.
const (
	gatewayIP = "10.99.0.1"
	malloryIP = "10.99.0.2"
	aliceIP   = "10.99.0.3"
)

func newNetwork(t testing.TB) *network {
	t.Helper()
	n := &network{t: t, fd: -1}
	err := onThread(func() (err error) {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		if n.fd, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return err
		}
		return exec.Command("sh", "-c", fmt.Sprintf("ip link set lo up && for a in %s %s %s; do ip addr add $a/32 dev lo; done", gatewayIP, malloryIP, aliceIP)).Run()
	})
	if err != nil {
		t.Fatalf("a network namespace: %v", err)
	}
	t.Cleanup(func() { _ = unix.Close(n.fd) })
	return n
}

// in runs f in the namespace.
func (n *network) in(f func() error) error {
	return onThread(func() error {
		if err := unix.Setns(n.fd, unix.CLONE_NEWNET); err != nil {
			return err
		}
		return f()
	})
}

// onThread runs f on a thread of its own, which ends then.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked
		done <- f()
	}()
	return <-done
}

// connect makes a connection from that address to the gateway.
func (n *network) connect(from, address string) (c net.Conn, err error) {
	err = n.in(func() error {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: e2e.Patience}
		c, err = d.Dial("tcp", address)
		return err
	})
	if err == nil {
		n.t.Cleanup(func() { c.Close() })
	}
	return c, err
}

// tlsGateway serves in the network, to those who have a certificate.
func (n *network) tlsGateway() (g *gateway, cert tls.Certificate) {
	n.t.Helper()
	certFile, keyFile := servertest.Certificate(n.t)
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		n.t.Fatal(err)
	}
	err = n.in(func() error {
		g = start(n.t, setup{limit: limit, config: fmt.Sprintf(
			"http: {allowed_hosts: [%q], tls: {cert_file: %q, key_file: %q, client_ca_file: %q}}\n", gatewayIP, certFile, keyFile, certFile,
		), args: []string{"--http-listen=" + gatewayIP + ":0"}})
		return nil
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return g, cert
}

// Somebody on the network who begins handshakes and does not go on, or fails them, keeps
// nobody out who has a certificate, and does not fill the log.
func TestHandshakes(t *testing.T) {
	n := newNetwork(t)
	g, cert := n.tlsGateway()
	alice := &http.Client{Timeout: e2e.Patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialTLSContext: func(context.Context, string, string) (net.Conn, error) {
			c, err := n.connect(aliceIP, g.tcp)
			if err != nil {
				return nil, err
			}
			return tls.Client(c, &tls.Config{Certificates: []tls.Certificate{cert}, InsecureSkipVerify: true}), nil
		},
	}}
	ask := func(method, path, token string) (status int, body string) {
		req, err := http.NewRequest(method, "https://"+g.tcp+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := alice.Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	status, body := ask("POST", "/v1/sessions", "")
	if status != http.StatusCreated {
		t.Fatalf("before the attack: %d %s", status, body)
	}
	token := answer{body: body}.field("token")
	for range limit {
		if _, err := n.connect(malloryIP, g.tcp); err != nil { // and says nothing
			t.Fatal(err)
		}
	}
	for range 5 {
		if status, body := ask("POST", "/v1/sessions/self/keepalive", token); status != http.StatusOK {
			t.Errorf("beside %d half-open handshakes: %d %s, want 200", limit, status, body)
		}
		if status, body := ask("GET", "/livez", ""); status != http.StatusOK {
			t.Errorf("/livez beside them: %d %s, want 200", status, body)
		}
		time.Sleep(50 * time.Millisecond)
	}
	for range limit {
		c, err := n.connect(malloryIP, g.tcp)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, "no handshake at all\r\n")
		_, _ = io.Copy(io.Discard, c)
		c.Close()
	}
	if lines := strings.Count(g.log.String(), "handshake failed"); lines == 0 || lines > 10 {
		t.Errorf("%d lines of the log for %d failed handshakes, want a few", lines, 2*limit)
	}
}
