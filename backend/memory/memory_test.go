package memory_test

import (
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/backendtest"
	"github.com/lockgw/lockgw/backend/memory"
)

func TestBackend(t *testing.T) {
	backendtest.Run(t, func(*testing.T) backendtest.Store {
		s := memory.NewStore()
		return func(t *testing.T, n backend.Node) backend.Backend {
			b := memory.Open(s, n)
			t.Cleanup(func() { _ = b.Close() })
			return b
		}
	})
}
