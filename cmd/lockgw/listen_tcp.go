package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// listenTCP listens on the sockets that the service manager has passed, and else
// opens the addresses of http.listen, all or none.
func listenTCP(c httpConfig, passed []net.Listener) (lns []net.Listener, err error) {
	secure, err := c.TLS.load()
	if err != nil {
		return nil, err
	}
	if len(passed) > 0 {
		lns, err = passed, checkPassed(passed, c.TLS)
	} else {
		lns, err = openTCP(c.Listen)
	}
	if err != nil || secure == nil {
		return lns, err
	}
	for i, ln := range lns {
		lns[i] = tls.NewListener(ln, secure)
	}
	return lns, nil
}

// checkPassed: what may not be configured may not be passed.
func checkPassed(lns []net.Listener, c tlsConfig) error {
	for _, ln := range lns {
		if err := checkListen(ln.Addr().String(), c); err != nil {
			return fmt.Errorf("the socket that the service manager has passed as %q: %w", passedTCP, err)
		}
	}
	return nil
}

func openTCP(addresses []string) ([]net.Listener, error) {
	var lns []net.Listener
	for _, address := range addresses {
		ln, err := net.Listen("tcp", address)
		if err != nil {
			closeAll(lns)
			return nil, listenError(address, err)
		}
		lns = append(lns, ln)
	}
	return lns, nil
}

func listenError(address string, err error) error {
	if errors.Is(err, unix.EADDRINUSE) {
		return fmt.Errorf("http.listen: another program listens on %s already; stop it or choose another port", address)
	}
	return fmt.Errorf("http.listen: %w", err)
}

func closeAll(lns []net.Listener) {
	for _, ln := range lns {
		_ = ln.Close()
	}
}

// load reads the files, nil if there is none to read.
func (t tlsConfig) load() (*tls.Config, error) {
	if !t.enabled() {
		return nil, nil
	}
	cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("http.tls: %w", err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if !t.asksForClient() {
		return c, nil
	}
	pem, err := os.ReadFile(t.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("http.tls.client_ca_file: %w", err)
	}
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("http.tls.client_ca_file: no certificate in %s", t.ClientCAFile)
	}
	return c, nil
}
