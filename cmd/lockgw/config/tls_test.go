package config

import (
	"testing"

	"github.com/lockgw/lockgw/backend/servertest"
)

func writeCert(t *testing.T) TLS {
	cert, key := servertest.Certificate(t)
	return TLS{CertFile: cert, KeyFile: key, ClientCAFile: cert}
}
