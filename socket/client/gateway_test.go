package client

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket"
)

// slack is how long something that should happen at once may take on a busy
// machine.
const slack = time.Minute

// gateway is a server over the store in memory.
type gateway struct {
	*socket.Server
	t    testing.TB
	path string
	m    *session.Manager
}

func start(t testing.TB) *gateway {
	t.Helper()
	store := memory.OpenTable(memory.NewRows(), "a")
	m := session.New(store, session.Config{Node: "host-a"})
	s := socket.NewServer(socket.Config{Manager: m})
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
		store.Close()
	})
	return &gateway{Server: s, t: t, path: path, m: m}
}

func (g *gateway) client(o Options) *Client {
	g.t.Helper()
	c, err := Dial(g.t.Context(), g.path, o)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { c.Close() })
	return c
}

func (g *gateway) waiters(n int) {
	g.t.Helper()
	for end := time.Now().Add(slack); g.m.Stats().Waiters != n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			g.t.Fatalf("%d waiters, want %d", g.m.Stats().Waiters, n)
		}
	}
}
