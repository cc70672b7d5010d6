package dialer

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// File is one in PEM, which a setting names; Path "": none.
type File struct{ Setting, Path string }

// TLS is for connections that trust the certificates in ca, or those of the system, and show the
// one in cert, if there is one, to which key belongs.
func TLS(ca, cert, key File) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca.Path != "" {
		pem, err := os.ReadFile(ca.Path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", ca.Setting, err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: no certificate in %s", ca.Setting, ca.Path)
		}
	}
	if cert.Path == "" && key.Path == "" {
		return c, nil
	}
	load := func() (*tls.Certificate, error) {
		if cert.Path == "" || key.Path == "" {
			return nil, errors.New("they belong together, and there is only " + cert.Path + key.Path)
		}
		pair, err := tls.LoadX509KeyPair(cert.Path, key.Path)
		return &pair, err
	}
	if _, err := load(); err != nil {
		return nil, fmt.Errorf("%s and %s: %w", cert.Setting, key.Setting, err)
	}
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return load() } // it may have been renewed
	return c, nil
}
