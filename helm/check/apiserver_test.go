package check

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var serverDir = flag.String("apiserver", "", "directory with kube-apiserver and its store, see make helm-server")

// server is an API server that has no nodes and no controllers: it looks at what it
// is given as in a cluster, and keeps it.
type server struct {
	url, token string
	client     http.Client
}

// startServer runs one, and its store, until the test ends.
func startServer(t *testing.T) *server {
	t.Helper()
	if *serverDir == "" {
		t.Skip("needs -apiserver: run make helm-server")
	}
	dir := t.TempDir()
	store, peers, port := "http://"+freeAddress(t), "http://"+freeAddress(t), freeAddress(t)
	run(t, dir, "server", "--data-dir", filepath.Join(dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", store, "--advertise-client-urls", store,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "default="+peers)

	// It makes its certificate itself, and listens on loopback.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	s := &server{url: "https://" + port, token: rand.Text(), client: http.Client{Transport: transport}}
	key, tokens := filepath.Join(dir, "key"), filepath.Join(dir, "tokens")
	writeKey(t, key)
	if err := os.WriteFile(tokens, []byte(s.token+",admin,admin,system:masters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, "kube-apiserver", "--etcd-servers", store, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--secure-port", port[strings.LastIndex(port, ":")+1:], "--cert-dir", dir, "--token-auth-file", tokens,
		"--service-cluster-ip-range=10.0.0.0/24", "--allow-privileged=true", "--service-account-issuer=https://lockgw.example",
		"--service-account-key-file", key, "--service-account-signing-key-file", key)
	s.awaitReady(t)
	return s
}

func (s *server) awaitReady(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		status, _, text, err := s.send(http.MethodGet, "/readyz", nil)
		if err == nil && status == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the API server is not ready: %d %s, %v", status, text, err)
		}
	}
}

// run runs a program of the directory until the test ends; if that has failed, the
// last lines of the program are shown.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(filepath.Join(*serverDir, name), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", name, out.Bytes()[max(0, out.Len()-4000):])
		}
	})
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// writeKey makes what signs the tokens of pods.
func writeKey(t *testing.T, file string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s *server) send(method, path string, body []byte) (status int, warnings []string, text []byte, err error) {
	r, err := http.NewRequest(method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	r.Header.Set("Content-Type", "application/apply-patch+yaml")
	answer, err := s.client.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	return answer.StatusCode, answer.Header.Values("Warning"), text, err
}

// apply is what Helm does with a document at an installation and at an upgrade. It
// says what the server minds: why it refuses, or of what it warns.
func (s *server) apply(t *testing.T, namespace string, doc []byte) (minds string) {
	t.Helper()
	path := resourcePath(t, namespace, doc) + "?fieldManager=helm&fieldValidation=Strict"
	status, warnings, text, err := s.send(http.MethodPatch, path, doc)
	if err != nil {
		t.Fatal(err)
	}
	if status == http.StatusOK || status == http.StatusCreated {
		return strings.Join(warnings, "\n")
	}
	var said metav1.Status
	if err := json.Unmarshal(text, &said); err != nil {
		return fmt.Sprintf("%d %s", status, text)
	}
	return fmt.Sprintf("%d %s", status, said.Message)
}
