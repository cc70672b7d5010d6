package restarts

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// patience is how long something may take that has to happen.
const patience = e2e.Patience

const (
	ttl      = 15 * time.Second // far more than a restart takes on a busy machine
	reattach = 4 * time.Second
)

// gateway is a node whose process may be ended and started again.
type gateway struct{ *e2e.Gateway }

const gatewayConfig = `http:    {listen: []}
session:  {reattach: %[1]v}
lock:     {ttl: %[2]v}
shutdown: {holds: keep, timeout: 10s}
backend:  {url: "%[3]s"}
log:      {level: info, format: text}
`

func newGateway(t testing.TB, dir, name, url string) *gateway {
	t.Helper()
	return &gateway{e2e.NewGateway(t, dir, name, e2e.Program(), fmt.Sprintf(gatewayConfig, reattach, ttl, url))}
}

// await returns when the gateway says that it and its store are ready.
func (g *gateway) await() error { return g.Await(context.Background()) }

// complaint is what the gateway wrote before it died of itself, or that it could not do.
func (g *gateway) complaint() string { return g.Complaint("level=ERROR") }

func TestMain(m *testing.M) {
	code, err := e2e.Main(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}
