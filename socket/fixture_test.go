package socket

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
	goclient "github.com/lockgw/lockgw/socket/client"
	"github.com/lockgw/lockgw/socket/resp"
)

func TestMain(m *testing.M) {
	if os.Getenv(clientWay) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if err := victimMain(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// slack is how long something that should happen at once may take on a busy
// machine.
const slack = time.Minute

// gateway is a server over the store in memory.
type gateway struct {
	*Server
	t    testing.TB
	path string
	m    *session.Manager
}

type setup struct {
	socket  Config
	session session.Config
	wrap    func(ledger.Table) ledger.Table
}

func start(t testing.TB, options ...func(*setup)) *gateway {
	t.Helper()
	var o setup
	o.session.Node = "host-a"
	o.socket.Version = "1.2.3"
	for _, f := range options {
		f(&o)
	}
	var b ledger.Table = memory.OpenTable(memory.NewRows(), "a")
	if o.wrap != nil {
		b = o.wrap(b)
	}
	m := session.New(b, o.session)
	o.socket.Manager = m
	s := NewServer(o.socket)
	path := filepath.Join(t.TempDir(), "resp.sock")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), slack)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Errorf("close the manager: %v", err)
		}
		b.Close()
	})
	return &gateway{Server: s, t: t, path: path, m: m}
}

// with is g in a sub-test.
func (g *gateway) with(t testing.TB) *gateway {
	sub := *g
	sub.t = t
	return &sub
}

// wire is a connection whose every byte the test decides.
type wire struct {
	net.Conn
	t testing.TB
	r *bufio.Reader
}

func (g *gateway) dial() *wire {
	g.t.Helper()
	nc, err := net.Dial("unix", g.path)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { nc.Close() })
	return &wire{nc, g.t, bufio.NewReader(nc)}
}

// dial3 is a connection that speaks RESP3.
func (g *gateway) dial3() *wire {
	g.t.Helper()
	w := g.dial()
	if hello, ok := w.do("HELLO", "3").(map[string]any); !ok || hello["proto"] != int64(3) {
		g.t.Fatalf("HELLO 3 = %v", hello)
	}
	return w
}

// write sends bytes as they are. That the gateway has closed is seen by reading.
func (w *wire) write(s string) { io.WriteString(w.Conn, s) }

func encode(args ...string) string {
	var b resp.Writer
	b.Array(len(args))
	for _, a := range args {
		b.Bulk(a)
	}
	return string(b.Bytes())
}

func (w *wire) send(args ...string) { w.write(encode(args...)) }

// read returns the next reply.
func (w *wire) read() any {
	w.t.Helper()
	w.SetReadDeadline(time.Now().Add(slack))
	v, err := resp.ReadReply(w.r)
	if err != nil {
		w.t.Fatalf("read a reply: %v", err)
	}
	return v
}

func (w *wire) do(args ...string) any {
	w.t.Helper()
	w.send(args...)
	return w.read()
}

// want sends a command and compares the reply.
func (w *wire) want(want any, args ...string) {
	w.t.Helper()
	if got := w.do(args...); !reflect.DeepEqual(got, want) {
		w.t.Errorf("%q = %#v, want %#v", args, got, want)
	}
}

// wantError sends a command and compares the beginning of the error reply.
func (w *wire) wantError(want string, args ...string) {
	w.t.Helper()
	e, ok := w.do(args...).(resp.Error)
	if !ok || !strings.HasPrefix(string(e), want) {
		w.t.Errorf("%.80q = %v, want an error %q", args, e, want)
	}
}

// lock acquires name and returns the fence.
func (w *wire) lock(args ...string) int64 {
	w.t.Helper()
	fence, ok := w.do(append([]string{"LOCK"}, args...)...).(int64)
	if !ok || fence == 0 {
		w.t.Fatalf("LOCK %q = %v, want a fence", args, fence)
	}
	return fence
}

// silent fails if anything comes.
func (w *wire) silent() {
	w.t.Helper()
	w.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
	if b, err := w.r.ReadByte(); err == nil {
		rest, _ := w.r.Peek(w.r.Buffered())
		w.t.Errorf("the gateway sent %q, want nothing yet", string(b)+string(rest))
	}
}

// rest reads until the gateway closes the connection.
func (w *wire) rest() string {
	w.t.Helper()
	w.SetReadDeadline(time.Now().Add(slack))
	b, err := io.ReadAll(w.r)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		w.t.Fatalf("the connection is still open after %q", b)
	}
	return string(b)
}

// eventually waits for a state that comes without an answer.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(slack); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, slack)
		}
	}
}

func (g *gateway) waiters(n int) {
	g.t.Helper()
	eventually(g.t, fmt.Sprintf("%d waiters", n), func() bool { return g.m.Stats().Waiters == n })
}

// unchanged fails if something is held or waited for.
func (g *gateway) unchanged() {
	g.t.Helper()
	if st := g.m.Stats(); st.Holds != 0 || st.Waiters != 0 {
		g.t.Errorf("after bad input there are %d holds and %d waiters, want none", st.Holds, st.Waiters)
	}
}

// client is the Go client.
func (g *gateway) client() *goclient.Client {
	g.t.Helper()
	c, err := goclient.Dial(context.Background(), g.path, goclient.Options{})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { c.Close() })
	return c
}

func wantWord(t *testing.T, err error, word string) {
	t.Helper()
	var e *goclient.Error
	if !errors.As(err, &e) || e.Word != word || e.Text == "" {
		t.Errorf("err = %v, want %s", err, word)
	}
}
