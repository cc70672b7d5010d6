package dialer

import (
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lockgw/lockgw/backend/servertest"
)

// door is a server that asks for a certificate.
type door struct {
	addr  string
	shows atomic.Pointer[tls.Certificate]
	seen  chan *big.Int // the serial number of whom it let in
}

func open(t *testing.T) *door {
	t.Helper()
	d := &door{seen: make(chan *big.Int, 1)}
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		ClientAuth:     tls.RequireAnyClientCert,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return d.shows.Load(), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	d.addr = ln.Addr().String()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if s := c.(*tls.Conn); s.Handshake() == nil {
				d.seen <- s.ConnectionState().PeerCertificates[0].SerialNumber
			}
			_ = c.Close()
		}
	}()
	return d
}

// files are three settings of a store.
type files struct{ ca, cert, key string }

func (f files) load(t *testing.T) *tls.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		t.Fatal(err)
	}
	return &pair
}

func (f files) serial(t *testing.T) *big.Int { return f.load(t).Leaf.SerialNumber }

func (f files) open() (*TLS, error) {
	return NewTLS(File{"ca_file", f.ca}, File{"cert_file", f.cert}, File{"key_file", f.key})
}

func made(t *testing.T) (f files) {
	t.Helper()
	f.cert, f.key = servertest.Certificate(t)
	f.ca = filepath.Join(t.TempDir(), "ca.pem")
	servertest.Replace(t, f.ca, f.cert)
	return f
}

// in has f be in one directory, by the names that they have in a secret of Kubernetes.
func (f files) in(t *testing.T, dir string) files {
	t.Helper()
	in := files{filepath.Join(dir, "ca.crt"), filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	servertest.Replace(t, in.ca, f.ca)
	servertest.Replace(t, in.cert, f.cert)
	servertest.Replace(t, in.key, f.key)
	return in
}

// enters wants that a connection is made, with the certificate of that number.
func (d *door) enters(t *testing.T, s *TLS, want *big.Int) {
	t.Helper()
	c, err := tls.Dial("tcp", d.addr, s.Config())
	if err != nil {
		t.Fatalf("a connection: %v", err)
	}
	defer c.Close()
	if got := <-d.seen; got.Cmp(want) != 0 {
		t.Errorf("the server sees certificate %d, want %d", got, want)
	}
	_, _ = io.Copy(io.Discard, c)
}

// A new connection is made with the files as they are. Where they cannot be used, it is made as the
// one before, and the log says so once.
func TestFilesAreReplaced(t *testing.T) {
	var log bytes.Buffer
	LogTo(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { LogTo(nil) })
	told := func(text string, want int) {
		t.Helper()
		if got := strings.Count(log.String(), text); got != want {
			t.Errorf("the log says %q %d times, want %d, in\n%s", text, got, want, &log)
		}
	}
	own, next, third := made(t), made(t), made(t)
	d := open(t)
	d.shows.Store(own.load(t))
	first, second := own.serial(t), next.serial(t)
	s, err := own.open()
	if err != nil {
		t.Fatal(err)
	}
	d.enters(t, s, first)

	servertest.Replace(t, own.cert, next.cert)
	d.enters(t, s, first)
	d.enters(t, s, first)
	told("cert_file and key_file: tls: private key does not match public key", 1)
	servertest.Replace(t, own.key, next.key)
	d.enters(t, s, second)
	told("in order again", 1)

	d.shows.Store(third.load(t))
	if c, err := tls.Dial("tcp", d.addr, s.Config()); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("a server of another authority: %v, %v", c, err)
	}
	servertest.Replace(t, own.ca, third.ca)
	d.enters(t, s, second)
	if err := os.WriteFile(own.ca, []byte("-----BEGIN CERT"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.enters(t, s, second)
	told("ca_file: no certificate in "+own.ca, 1)
	if err := os.Remove(own.key); err != nil {
		t.Fatal(err)
	}
	d.enters(t, s, second)
	if c := s.Config(); c.InsecureSkipVerify || c.VerifyConnection != nil || c.MinVersion != tls.VersionTLS12 {
		t.Errorf("the configuration of a connection is %+v", c)
	}
}

// Kubernetes has a directory of links, which lead to the files by a link that it swaps.
func TestLinkIsSwapped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := func(to string) {
		t.Helper()
		tmp, data := filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")
		if err := os.Symlink(to, tmp); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(tmp, data); err != nil {
			t.Fatal(err)
		}
	}
	before, after := made(t).in(t, filepath.Join(dir, "..1")), made(t).in(t, filepath.Join(dir, "..2"))
	link("..1")
	for _, name := range []string{"ca.crt", "tls.crt", "tls.key"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := files{filepath.Join(dir, "ca.crt"), filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}.open()
	if err != nil {
		t.Fatal(err)
	}
	d := open(t)
	d.shows.Store(before.load(t))
	d.enters(t, s, before.serial(t))
	link("..2")
	d.shows.Store(after.load(t))
	d.enters(t, s, after.serial(t))
}

// What cannot be used at the start is told then.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	f, other := made(t), made(t)
	tests := []struct {
		f    files
		want string
	}{
		{files{ca: "/none"}, "ca_file: open /none: no such file"},
		{files{ca: f.key}, "ca_file: no certificate in " + f.key},
		{files{cert: f.cert}, "cert_file and key_file: they belong together, and there is only " + f.cert},
		{files{key: f.key}, "cert_file and key_file: they belong together, and there is only " + f.key},
		{files{cert: f.cert, key: other.key}, "cert_file and key_file: tls: private key does not match public key"},
		{files{cert: f.cert, key: "/none"}, "cert_file and key_file: open /none: no such file"},
	}
	for _, tt := range tests {
		if _, err := tt.f.open(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%+v: %v, want %s", tt.f, err, tt.want)
		}
	}
	for _, f := range []files{{}, f, {ca: f.ca}} {
		if s, err := f.open(); err != nil || s.Shows() != (f.cert != "") {
			t.Errorf("%+v: %v", f, err)
		}
	}
}
