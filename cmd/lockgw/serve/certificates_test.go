package serve

import (
	"bufio"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/api"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/cmd/lockgw/config"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

// serveTLS serves locks over TLS, with these rules, and returns the address.
func serveTLS(t *testing.T, c config.TLS, optional bool, rules ...access.Rule) (address string, certs *certificates) {
	t.Helper()
	lns, certs, err := listenTCP(config.HTTP{Listen: []string{"127.0.0.1:0"}, TLS: c}, optional, nil, api.Listening{})
	if err != nil {
		t.Fatal(err)
	}
	control, err := access.New(access.Config{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	store := memory.OpenTable(memory.NewRows(), "a")
	m := session.New(store, session.Config{})
	srv := api.NewServer(api.New(api.Config{Manager: m, Access: control}))
	done := make(chan error, 1)
	go func() { done <- srv.Serve(lns[0]) }()
	t.Cleanup(func() {
		srv.Close()
		<-done
		if err := m.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
		store.Close()
	})
	return lns[0].Addr().String(), certs
}

// put acquires a lock over a connection of its own.
func put(t *testing.T, address, name string, certs ...tls.Certificate) (status int, body string, by *tls.ConnectionState) {
	t.Helper()
	tr := &http.Transport{TLSClientConfig: &tls.Config{Certificates: certs, InsecureSkipVerify: true}}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequest("PUT", "https://"+address+"/v1/locks/"+name, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), resp.TLS
}

// A certificate says who calls, and one without it is somebody on this machine.
func TestCertificateCaller(t *testing.T) {
	c := writeCert(t)
	address, _ := serveTLS(t, c, true,
		access.Rule{Who: []string{"cert:test"}, May: []string{"lock"}, Locks: []string{"a"}},
		access.Rule{Who: []string{"loopback"}, May: []string{"lock"}, Locks: []string{"b"}},
	)
	cert, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		certs []tls.Certificate
		want  int
		text  string
	}{
		{"a", []tls.Certificate{cert}, 201, "held"},
		{"c", []tls.Certificate{cert}, 403, `certificate \"test\"`},
		{"a", nil, 403, "somebody over TCP from this machine"},
		{"b", nil, 201, "held"},
	} {
		if status, body, _ := put(t, address, tt.name, tt.certs...); status != tt.want || !strings.Contains(body, tt.text) {
			t.Errorf("lock %s with %d certificates: %d %s, want %d with %s", tt.name, len(tt.certs), status, body, tt.want, tt.text)
		}
	}
}

// A renewed certificate is shown after a reload; one that cannot be read leaves the
// old one in force.
func TestCertificatesAreReadAgain(t *testing.T) {
	c := writeCert(t)
	c.ClientCAFile = ""
	address, certs := serveTLS(t, c, false)
	_, _, first := put(t, address, "a")
	renewed := writeCert(t)
	copyFile(t, renewed.CertFile, c.CertFile)
	if _, err := certs.read(false); err == nil {
		t.Error("a certificate without its key was accepted")
	}
	if _, _, now := put(t, address, "b"); !now.PeerCertificates[0].Equal(first.PeerCertificates[0]) {
		t.Error("another certificate is shown before a reload")
	}
	copyFile(t, renewed.KeyFile, c.KeyFile)
	read, err := certs.read(false)
	if err != nil {
		t.Fatal(err)
	}
	certs.use(read)
	if _, _, now := put(t, address, "c"); now.PeerCertificates[0].Equal(first.PeerCertificates[0]) {
		t.Error("the old certificate is still shown")
	}
}

// Whether a certificate may be left out follows access.tokens_file, which a reload reads.
func TestCertificatesBesideTokens(t *testing.T) {
	c := writeCert(t)
	address, certs := serveTLS(t, c, true)
	next := config.Settings{Config: config.Default()}
	r := &reloader{
		load: func() (config.Settings, error) { return next, nil }, running: next, service: &serviceManager{},
		access: access.Open(), certs: certs, level: new(slog.LevelVar), log: slog.New(slog.DiscardHandler),
	}
	for _, file := range []string{"", "tokens", ""} {
		next.Access.TokensFile = file
		if _, err := r.reload(); err != nil {
			t.Fatal(err)
		}
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(e2e.Patience))
		_, _ = io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n") // the answer tells
		_, err = bufio.NewReader(conn).ReadString('\n')
		if served := err == nil; served != (file != "") {
			t.Errorf("tokens_file %q: a client without a certificate is served: %v (%v)", file, served, err)
		}
		conn.Close()
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
