package config

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// Enabled tells whether TLS is configured.
func (t TLS) Enabled() bool       { return t != TLS{} }
func (t TLS) asksForClient() bool { return t.ClientCAFile != "" }

// Load reads the files, and gives nil if there is none to read. tokens: callers may show
// one in place of a certificate.
func (t TLS) Load(tokens bool) (*tls.Config, error) {
	if !t.Enabled() {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("http.tls: %w", err)
	}
	out := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if !t.asksForClient() {
		return out, nil
	}
	pem, err := os.ReadFile(t.ClientCAFile)
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
