package history_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// gateway is a real one, which may be killed and started again.
type gateway struct {
	*e2e.Gateway
	proxy proxies // to each server of the store
}

const gatewayConfig = `http:    {listen: []}
session: {reattach: 4s}
backend: %[1]s
lock:    {ttl: %[2]s}
log:     {level: warn, format: text}
`

func newGateway(t testing.TB, dir, name, program string, p proxies, behind store, s scenario) *gateway {
	ttl := 30 * time.Second
	if s.guarded || voting(s.scheme) {
		ttl = s.ttl[1]
	}
	return &gateway{e2e.NewGateway(t, dir, name, program, fmt.Sprintf(gatewayConfig, behind.config(p.addr(), s), ttl)), p}
}
