package doors

import (
	"net"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// Whoever takes the port while the gateway is away, after a kill for instance, cannot keep
// it from coming back: on its Unix sockets it serves as before, and it has the port again
// when that is free.
func TestPortOfAnotherUser(t *testing.T) {
	t.Parallel()
	var theirs net.Listener
	if err := as(t, mallory, func() (err error) {
		theirs, err = net.Listen("tcp", "127.0.0.1:0")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	address := theirs.Addr().String()
	g := start(t, setup{args: []string{"--http-listen=" + address}})
	if w := g.logged("another program listens on an address of http.listen, and gets what is sent there, tokens too; the gateway serves its other addresses and tries this one again. Stop that program, or choose another port"); w == nil || w["http"] != address || w["level"] != "WARN" {
		t.Errorf("the log has %v, want a warning about %s:\n%s", w, address, g.log)
	}
	g.must(201, alice, "unix", "PUT", "/v1/locks/a", "", "")
	if g.tcp == address {
		t.Errorf("the gateway says that it serves %s", address)
	}
	theirs.Close()
	g.tcp = address
	until := time.Now().Add(e2e.Patience)
	for g.call(alice, "tcp", "GET", "/livez", "", "").status != 200 && time.Now().Before(until) {
		time.Sleep(50 * time.Millisecond)
	}
	g.must(423, alice, "tcp", "PUT", "/v1/locks/a", "", "")
}
