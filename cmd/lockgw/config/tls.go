package config

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// maxPEM bounds what is read of a file with certificates.
const maxPEM = 16 << 20

// Enabled tells whether TLS is configured.
func (t TLS) Enabled() bool       { return t != TLS{} }
func (t TLS) asksForClient() bool { return t.ClientCAFile != "" }

// Load reads the files, and gives nil if there is none to read. tokens: callers may show
// one in place of a certificate.
func (t TLS) Load(tokens bool) (*tls.Config, error) {
	if !t.Enabled() {
		return nil, nil
	}
	certPEM, _, err := cli.ReadFile(t.CertFile, maxPEM)
	keyPEM, _, err2 := cli.ReadFile(t.KeyFile, maxPEM)
	if err := cmp.Or(err, err2); err != nil {
		return nil, fmt.Errorf("http.tls: %w", err)
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("http.tls: %w", err)
	}
	out := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if !t.asksForClient() {
		return out, nil
	}
	pem, _, err := cli.ReadFile(t.ClientCAFile, maxPEM)
	if err != nil {
		return nil, fmt.Errorf("http.tls.client_ca_file: %w", err)
	}
	out.ClientCAs, out.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	out.SessionTicketsDisabled = true // who is resumed would not be looked at again after a reload
	if tokens {
		out.ClientAuth = tls.VerifyClientCertIfGiven
	}
	if !out.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("http.tls.client_ca_file: no certificate in %s", t.ClientCAFile)
	}
	return out, nil
}
