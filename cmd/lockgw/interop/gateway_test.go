package interop

import (
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/socket/client"
)

const (
	lease = 3 * time.Second // of lockgw and of Redisson's watchdog, where it matters
	delay = time.Second     // of the gateway that has one
)

// nodes are the gateways of a store.
type nodes struct {
	binary  string
	a, b    *gateway
	delayed *gateway // with a lock.delay
	store   *store
	dir     string
}

// gateway is a lockgw process.
type gateway struct {
	*e2e.Gateway
	other *gateway // another gateway of the same store
}

const configuration = `http:     {listen: []}
lock:     {ttl: %[1]v, delay: %[2]v}
backend:  {url: "%[3]s", redis: {fence_ttl: 1h}}
log:      {level: info, format: text}
`

// build makes the program.
func build(t testing.TB) string {
	t.Helper()
	if *gatewayAt != "" {
		return *gatewayAt
	}
	program, err := e2e.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func startNodes(t testing.TB, binary string, s *store) *nodes {
	n := &nodes{binary: binary, store: s, dir: e2e.ShortDir(t)}
	n.a = n.start(t, "a", 0)
	n.b = n.start(t, "b", 0)
	n.a.other = n.b
	n.delayed = n.start(t, "delayed", delay)
	return n
}

// start starts one more gateway and waits until it is ready. It is killed with
// the test.
func (n *nodes) start(t testing.TB, name string, delay time.Duration) *gateway {
	t.Helper()
	config := fmt.Sprintf(configuration, lease, delay, n.store.url)
	g := &gateway{e2e.NewGateway(t, n.dir, name, n.binary, config), n.a}
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	if err := g.Await(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

// dial opens a session that lives by its connection.
func (g *gateway) dial(t testing.TB, notice func(client.Notice)) *client.Client {
	t.Helper()
	c, err := client.Dial(t.Context(), g.Socket(), client.Options{OnNotice: notice})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// breakLock takes name from its holder, as an operator does.
func (g *gateway) breakLock(name string, fence uint64) error {
	text, err := exec.Command(g.Program,
		"break", name, "--fence", fmt.Sprint(fence), "--socket", g.Socket()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("lockgw break: %w: %s", err, text)
	}
	return nil
}
