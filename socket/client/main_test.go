package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket"
)

// TestMain starts the gateway that the examples talk to, and looks for what was left
// running at the end.
func TestMain(m *testing.M) {
	code, err := withGateway(m.Run)
	if err == nil && code == 0 {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withGateway(f func() int) (code int, err error) {
	dir, err := os.MkdirTemp("", "lockgw")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	path = filepath.Join(dir, "resp.sock")
	ln, err := net.Listen("unix", path)
	if err != nil {
		return 1, err
	}
	store := memory.OpenTable(memory.NewRows(), "a")
	m := session.New(store, session.Config{Node: "host-a"})
	s := socket.NewServer(socket.Config{Manager: m})
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	code = f()
	s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return code, errors.Join(<-served, m.Close(ctx), store.Close())
}
