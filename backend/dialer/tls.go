package dialer

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
)

// File is one that a setting names; Path "": none.
type File struct{ Setting, Path string }

// read gives nothing of none, and what it said before of one that can be read once.
func (f File) read(before string) (string, error) {
	if f.Path == "" || before != "" && readOnce(f.Path) {
		return before, nil
	}
	text, err := readBounded(f.Path)
	return string(text), err
}

// TLS is for connections that trust the certificates in ca, or those of the system, and show the
// one in cert, if there is one, to which key belongs. Each is made with what is in the files then.
type TLS struct {
	ca, cert, key File

	files *Renewed[*tls.Config]
	seen  [3]string // what was in the files that made is made of
	made  *tls.Config
}

// NewTLS reads the files for the first time. The error says what is wrong with them.
func NewTLS(ca, cert, key File) (t *TLS, err error) {
	t = &TLS{ca: ca, cert: cert, key: key}
	if (cert.Path == "") != (key.Path == "") {
		return nil, t.unpaired(errors.New("they belong together, and there is only " + cert.Path + key.Path))
	}
	t.files, err = Renew(t.read)
	return t, err
}

func (t *TLS) unpaired(why error) error {
	return fmt.Errorf("%s and %s: %w", t.cert.Setting, t.key.Setting, why)
}

// Shows says whether servers are shown a certificate.
func (t *TLS) Shows() bool { return t.cert.Path != "" }

// ReadTLS is the TLS of an address whose query is q: with what ca_file, cert_file and key_file name, if it is
// on, as it is by how; nil: it is not.
func ReadTLS(q url.Values, on bool, how string) (*TLS, error) {
	file := func(setting string) File { return File{Setting: setting, Path: q.Get(setting)} }
	ca, cert, key := file("ca_file"), file("cert_file"), file("key_file")
	switch {
	case on:
		return NewTLS(ca, cert, key)
	case ca.Path+cert.Path+key.Path != "":
		return nil, errors.New("ca_file, cert_file and key_file need " + how)
	}
	return nil, nil
}

// Query is what of the query of an address names the files of t, by their settings; t may be nil.
func (t *TLS) Query() string {
	q := url.Values{}
	if t != nil {
		for _, f := range []File{t.ca, t.cert, t.key} {
			if f.Path != "" {
				q.Set(f.Setting, f.Path)
			}
		}
	}
	return q.Encode()
}

// Config is for one connection that is to be made now, and belongs to the caller.
//
// Whom a server's certificate is of is left to crypto/tls to check: one Config for all connections
// would need a check of its own, for authorities that change.
func (t *TLS) Config() *tls.Config { return t.files.Now().Clone() }

// Secured is c, which leads to addr, in TLS by config, which is the caller's no more. Without the name of
// a server in it, that in addr counts. After an error c is closed.
func Secured(ctx context.Context, c net.Conn, addr string, config *tls.Config) (net.Conn, error) {
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	s := tls.Client(c, config)
	if err := s.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, err
	}
	return s, nil
}

// read compares what is in the files, since in Kubernetes they are links to ones that are never
// written to. Of the same it makes nothing again: checking a key takes milliseconds.
func (t *TLS) read() (*tls.Config, error) {
	ca, err := t.ca.read(t.seen[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.ca.Setting, err)
	}
	cert, err := t.cert.read(t.seen[1])
	key, err2 := t.key.read(t.seen[2])
	if err := cmp.Or(err, err2); err != nil {
		return nil, t.unpaired(err)
	}
	now := [3]string{ca, cert, key}
	if t.made != nil && now == t.seen {
		return t.made, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.ca.Path != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(ca)) {
			return nil, fmt.Errorf("%s: no certificate in %s, which has to be PEM", t.ca.Setting, t.ca.Path)
		}
	}
	if t.Shows() {
		pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
		if err != nil {
			return nil, t.unpaired(err)
		}
		// It is shown whatever authorities the server asks for, so that that says what is wrong with it.
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	t.made, t.seen = c, now
	return c, nil
}
