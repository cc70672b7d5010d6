package serve

import (
	"crypto/tls"
	"sync/atomic"

	"github.com/lockgw/lockgw/cmd/lockgw/config"
)

// certificates are what the listeners with TLS show, and whose they accept. A reload
// reads the files again, for connections from then on.
type certificates struct {
	files   config.TLS
	current atomic.Pointer[tls.Config]
}

// openCertificates reads the files, nil if there is none to read. tokens: callers may
// show one in place of a certificate.
func openCertificates(files config.TLS, tokens bool) (*certificates, error) {
	if !files.Enabled() {
		return nil, nil
	}
	c := &certificates{files: files}
	read, err := files.Load(tokens)
	c.current.Store(read)
	return c, err
}

// read reads the files again, and changes nothing.
func (c *certificates) read(tokens bool) (*tls.Config, error) {
	if c == nil {
		return nil, nil
	}
	return c.files.Load(tokens)
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
