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
	proxy *proxy
}

const gatewayConfig = `http:    {listen: []}
session: {reattach: 4s}
backend: {url: "redis://%[1]s", redis: {guard: %[2]s}}
lock:    {ttl: %[3]s}
log:     {level: warn, format: text}
`

func newGateway(t testing.TB, dir, name, program string, p *proxy, s scenario) *gateway {
	guard, ttl := "none", 30*time.Second
	if s.guarded {
		guard, ttl = "quarantine", s.ttl[1]
	}
	return &gateway{e2e.NewGateway(t, dir, name, program, fmt.Sprintf(gatewayConfig, p.addr, guard, ttl)), p}
}
