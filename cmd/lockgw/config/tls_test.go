package config

import (
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

func writeCert(t *testing.T) TLS {
	cert, key, ca := e2e.Certificate(t)
	return TLS{CertFile: cert, KeyFile: key, ClientCAFile: ca}
}
