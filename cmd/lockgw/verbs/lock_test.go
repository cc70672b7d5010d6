package verbs

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket"
	"github.com/lockgw/lockgw/socket/client"
)

// A signal while the session of a lock is opened does not cut that off: else the gateway would
// keep a session of which nobody has the token. It is ended instead.
func TestSignalWhileASessionOpens(t *testing.T) {
	m, g := gateway(t)
	c, err := client.Dial(t.Context(), g.Socket, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, signal := context.WithCancel(t.Context())
	signal()
	token, err := openSession(ctx, c, 0, 0)
	if err != nil || m.Stats().Sessions != 1 {
		t.Fatalf("after a signal: %v, and %d sessions, want one whose token is known", err, m.Stats().Sessions)
	}
	if endSession(ctx, g, c, token); m.Stats().Sessions != 0 {
		t.Errorf("%d sessions after its end, want none", m.Stats().Sessions)
	}
}

// gateway is one with a store of its own.
func gateway(t *testing.T) (*session.Manager, cli.Gateway) {
	t.Helper()
	return gatewayOver(t, memory.OpenTable(memory.NewRows(), "a"))
}

// gatewayOver is one with that store.
func gatewayOver(t *testing.T, store ledger.Table) (*session.Manager, cli.Gateway) {
	t.Helper()
	t.Cleanup(func() { store.Close() })
	m := session.New(store, session.Config{Node: "host-a"})
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	s := socket.NewServer(socket.Config{Manager: m})
	t.Cleanup(func() { s.Close() })
	g := cli.Gateway{Socket: filepath.Join(t.TempDir(), cli.RespSocket)}
	ln, err := net.Listen("unix", g.Socket)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(ln) }()
	return m, g
}

// What a shell would run is not offered to be put into its line.
func TestCompleteNames(t *testing.T) {
	_, g := gateway(t)
	c, err := client.Dial(t.Context(), g.Socket, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, name := range []string{"$(id)a", "$(id)b", "a;id", "b`id`", "c'd", "reports/{a}*-1:x"} {
		if _, err := c.Lock(t.Context(), name, client.LockOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	cmd := NewUnlock()
	cmd.SetContext(t.Context())
	if err := cmd.Flags().Set("socket", g.Socket); err != nil {
		t.Fatal(err)
	}
	if got, _ := cmd.ValidArgsFunction(cmd, nil, ""); !slices.Equal(got, []string{"reports/{a}*-1:x"}) {
		t.Errorf("offered are %q, want the last name alone", got)
	}
}

// A signal that comes twice, as timeout(1) sends it, leaves the process the time to end its
// session. Without that, this test ends here.
func TestSignalThatComesTwice(t *testing.T) {
	ctx, stop := untilEnded(t.Context(), nil)
	defer stop()
	signal := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	signal()
	<-ctx.Done()
	for began := time.Now(); time.Since(began) < cli.SameSignal/10; time.Sleep(time.Millisecond) {
		signal()
	}
	if err := orEnded(ctx, ctx.Err(), "a"); !strings.Contains(err.Error(), "a is not held") {
		t.Errorf("err = %v, want that a is not held", err)
	}
}
