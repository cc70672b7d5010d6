package check

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"regexp"
	"testing"
	"time"
)

// secrets is where the chart mounts Secrets.
const secrets = "/var/run/secrets/lockgw"

// certificates makes the Secret of the gateway of that name, and what a client
// needs that may call it.
func (n *node) certificates(name string) *tls.Config {
	n.t.Helper()
	ca := newCertificate(n.t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true}, nil)
	server := newCertificate(n.t, &x509.Certificate{DNSNames: []string{name}}, ca)
	client := newCertificate(n.t, &x509.Certificate{}, ca)
	key, err := x509.MarshalPKCS8PrivateKey(server.PrivateKey)
	if err != nil {
		n.t.Fatal(err)
	}
	encode := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	n.write(secrets+"/tls/ca.crt", encode("CERTIFICATE", ca.Certificate[0]))
	n.write(secrets+"/tls/tls.crt", encode("CERTIFICATE", server.Certificate[0]))
	n.write(secrets+"/tls/tls.key", encode("PRIVATE KEY", key))
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	return &tls.Config{RootCAs: roots, ServerName: name, Certificates: []tls.Certificate{*client}}
}

// newCertificate is signed by parent, or by itself if there is none.
func newCertificate(t *testing.T, c *x509.Certificate, parent *tls.Certificate) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	issuer, signer := c, any(key)
	if parent != nil {
		issuer, signer = parent.Leaf, parent.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, c, issuer, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// ask sends a request to host, as a client does that the Service leads to the port.
func ask(c *tls.Config, host, port string) (status int, err error) {
	transport := &http.Transport{TLSClientConfig: c.Clone(), DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:"+port)
	}}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, Timeout: 10 * time.Second}
	answer, err := client.Get("https://" + host + ":" + port + "/v1/locks/nightly")
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	return answer.StatusCode, nil
}

// portOf finds in the log where the gateway listens.
func portOf(t *testing.T, log string) string {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`"http":\["[^"]*:(\d+)"`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("no address in the log:\n%s", text)
	}
	return string(found[1])
}
