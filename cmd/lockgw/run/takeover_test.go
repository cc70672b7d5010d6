package run

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// When its run is killed, a command goes on that has no lock that could end, or locks that are
// bound to its guardian: that takes them over, and asks the gateway about them.
func TestTakeover(t *testing.T) {
	for _, bound := range []bool{false, true} {
		dir := e2e.ShortDir(t)
		up, on := filepath.Join(dir, "up"), filepath.Join(dir, "go")
		t.Setenv("UP", up)
		t.Setenv("GO", on)
		order := startOrder{Path: "/bin/sh", Env: os.Environ(), Argv: []string{"sh", "-c", untilGo}, Socket: filepath.Join(dir, "s"), Signal: syscall.SIGTERM}
		l, err := net.Listen("unix", order.Socket)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if bound {
			order.Bound, order.Deadline = true, session.Boottime()+time.Hour
			order.Views = []client.Hold{{Name: "a", Left: time.Hour, Deadline: order.Deadline}}
		}
		k := testGuardian(t)
		p, err := k.start(order)
		if err != nil {
			t.Fatal(err)
		}
		e2e.Until(func() bool { return cli.Exists(up) })
		_ = k.socket.Close() // as the end of the run
		after := k.done
		if bound {
			after = make(chan struct{})
			go func() { // ends with the listener
				defer close(after)
				if c, err := l.Accept(); err == nil {
					_ = c.Close()
				}
			}()
		}
		select {
		case <-after:
		case <-p.done:
		}
		if err := os.WriteFile(on, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		<-p.done
		if got := p.exitCode(); got != 3 {
			t.Errorf("locks bound to the guardian: %v: exit code %d, want 3, its own", bound, got)
		}
	}
}
