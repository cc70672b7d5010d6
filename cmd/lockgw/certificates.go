package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync/atomic"
)

// certificates are what the listeners with TLS show, and whose they accept. A reload
// reads the files again, for connections from then on.
type certificates struct {
	files   tlsConfig
	current atomic.Pointer[tls.Config]
}

// openCertificates reads the files, nil if there is none to read. tokens: callers may
// show one in place of a certificate.
func openCertificates(files tlsConfig, tokens bool) (*certificates, error) {
	if !files.enabled() {
		return nil, nil
	}
	c := &certificates{files: files}
	read, err := c.read(tokens)
	c.current.Store(read)
	return c, err
}

// read reads the files, and changes nothing. tokens is as for openCertificates: it may be
// another since then.
func (c *certificates) read(tokens bool) (*tls.Config, error) {
	if c == nil {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(c.files.CertFile, c.files.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("http.tls: %w", err)
	}
	out := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if !c.files.asksForClient() {
		return out, nil
	}
	pem, err := os.ReadFile(c.files.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("http.tls.client_ca_file: %w", err)
	}
	out.ClientCAs, out.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	out.SessionTicketsDisabled = true // who is resumed would not be looked at again after a reload
	if tokens {
		out.ClientAuth = tls.VerifyClientCertIfGiven
	}
	if !out.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("http.tls.client_ca_file: no certificate in %s", c.files.ClientCAFile)
	}
	return out, nil
}

// use puts read in force.
func (c *certificates) use(read *tls.Config) {
	if c != nil {
		c.current.Store(read)
	}
}

// config asks for what is in force at each connection.
func (c *certificates) config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current.Load(), nil },
	}
}
