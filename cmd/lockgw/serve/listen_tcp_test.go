package serve

import (
	"crypto/tls"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/api"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

func writeCert(t *testing.T) config.TLS {
	cert, key, ca := e2e.Certificate(t)
	return config.TLS{CertFile: cert, KeyFile: key, ClientCAFile: ca}
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

// All addresses or none: one that is busy must not leave the others open.
func TestListenAllOrNone(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()

	_, _, err = listenTCP(config.HTTP{Listen: []string{address, busy.Addr().String()}}, false, nil, api.Listening{})
	if want := "another program listens on " + busy.Addr().String() + " already"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("with a busy address: %v, want %q", err, want)
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
		t.Fatalf("the address before the busy one is still open: %v", err)
	}
	again.Close()
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
