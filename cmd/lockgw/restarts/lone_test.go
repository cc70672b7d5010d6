package restarts

import (
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// lone is one gateway that is ready.
func lone(t *testing.T, url string) *gateway {
	t.Helper()
	g := newGateway(t, e2e.ShortDir(t), "lone", url)
	g.mustStart(t)
	return g
}

func (g *gateway) mustStart(t testing.TB) {
	t.Helper()
	if err := g.Start(); err != nil {
		t.Fatal(err)
	}
	if err := g.await(); err != nil {
		t.Fatal(err)
	}
}

// mustHold takes name in a session of its own that lives by keepalive.
func mustHold(t testing.TB, g *gateway, name, body string) (*webDoor, lock) {
	t.Helper()
	d, err := openWeb(t.Context(), g, body)
	if err != nil {
		t.Fatal(err)
	}
	l, err := d.acquire(t.Context(), name, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	return d, l
}
