package verbs

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/peer"
	"github.com/lockgw/lockgw/socket"
	"github.com/lockgw/lockgw/socket/client"
)

// A signal while the session of a lock is opened does not cut that off: else the gateway would
// keep a session of which nobody has the token. It is ended instead.
func TestSignalWhileASessionOpens(t *testing.T) {
	store := memory.OpenTable(memory.NewRows(), "a")
	defer store.Close()
	m := session.New(store, session.Config{Node: "host-a"})
	defer func() { _ = m.Close(t.Context()) }()
	s := socket.NewServer(socket.Config{Manager: m, PeerOf: peer.Of})
	defer s.Close()
	g := cli.Gateway{Socket: filepath.Join(t.TempDir(), cli.RespSocket)}
	ln, err := net.Listen("unix", g.Socket)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(ln) }()
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
