package serve

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/api"
	"github.com/lockgw/lockgw/backend/servertest"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

func writeCert(t *testing.T) config.TLS {
	cert, key := servertest.CertificateOf(t, "test")
	return config.TLS{CertFile: cert, KeyFile: key, ClientCAFile: cert}
}

// With client_ca_file nobody gets in without a certificate of it.
func TestListenTLS(t *testing.T) {
	c := writeCert(t)
	lns, _, err := listenTCP(config.HTTP{Listen: []string{"127.0.0.1:0"}, TLS: c}, false, nil, api.Listening{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(lns)
	go func() {
		for {
			conn, err := lns[0].Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("hello")) // does the handshake
			conn.Close()
		}
	}()
	cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		certs []tls.Certificate
		want  string
	}{{"with certificate", []tls.Certificate{cert}, "hello"}, {"without", nil, ""}} {
		conn, err := tls.Dial("tcp", lns[0].Addr().String(), &tls.Config{Certificates: tt.certs, InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 5)
		n, err := conn.Read(got)
		if string(got[:n]) != tt.want || (tt.want == "") != (err != nil) {
			t.Errorf("%s: read %q, %v; want %q", tt.name, got[:n], err, tt.want)
		}
		conn.Close()
	}
}

// All addresses or none: one that cannot be had must not leave the others open.
func TestListenAllOrNone(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()

	_, _, err = listenTCP(config.HTTP{Listen: []string{address, "192.0.2.1:7420"}}, false, nil, api.Listening{}) // no address of this machine
	if want := "http.listen: listen tcp 192.0.2.1:7420"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("with an address that is not here: %v, want %q", err, want)
	}
	dir := e2e.ShortDir(t)
	if err := os.WriteFile(filepath.Join(dir, cli.RespSocket), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Config{HTTP: config.HTTP{Listen: []string{address}}, Socket: config.Socket{Dir: dir, Mode: 0o660}}
	if _, err = listen(c, nil, api.Listening{}); err == nil {
		t.Error("listened, though a file is in the way of resp.sock")
	}
	again, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("the address before it is still open: %v", err)
	}
	again.Close()
}

// An address that another program has is waited for, and until then nobody is told to
// connect to it.
func TestListenWaitsForAnAddress(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	address := busy.Addr().String()
	lns, _, err := listenTCP(config.HTTP{Listen: []string{address, "127.0.0.1:0"}}, false, nil, api.Listening{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(lns)
	ls := &listeners{http: lns}
	if got := ls.addresses("tcp"); len(got) != 1 || got[0] == address {
		t.Errorf("addresses = %q, want the other one alone", got)
	}
	accepted := make(chan error, 1)
	go func() {
		c, err := lns[0].Accept()
		if err == nil {
			c.Close()
		}
		accepted <- err
	}()
	busy.Close()
	connected := func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	if e2e.Until(connected); <-accepted != nil {
		t.Error("nothing was accepted at the address that is free again")
	}
	if got := ls.addresses("tcp"); len(got) != 2 || got[0] != address {
		t.Errorf("addresses = %q, want that one, too", got)
	}
}

// Who waits for an address can be stopped.
func TestListenWaitsNoMore(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	lns, _, err := listenTCP(config.HTTP{Listen: []string{busy.Addr().String()}}, false, nil, api.Listening{})
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan error, 1)
	go func() {
		_, err := lns[0].Accept()
		accepted <- err
	}()
	closeAll(lns)
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept = %v, want %v", err, net.ErrClosed)
	}
}

func TestListenTLSFiles(t *testing.T) {
	good := writeCert(t)
	for _, tt := range []struct {
		c    config.TLS
		want string
	}{
		{config.TLS{CertFile: "nosuch", KeyFile: good.KeyFile}, "http.tls: open nosuch"},
		{config.TLS{CertFile: good.CertFile, KeyFile: good.KeyFile, ClientCAFile: "nosuch"}, "http.tls.client_ca_file"},
		{config.TLS{CertFile: good.CertFile, KeyFile: good.KeyFile, ClientCAFile: good.KeyFile}, "no certificate in"},
	} {
		lns, _, err := listenTCP(config.HTTP{Listen: []string{"127.0.0.1:0"}, TLS: tt.c}, false, nil, api.Listening{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("listenTCP with %+v = %v, want an error with %q", tt.c, err, tt.want)
		}
		closeAll(lns)
	}
}
