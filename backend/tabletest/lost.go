package tabletest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
)

// LostAnswers has writes carried out by the server at addr whose answers are lost with the
// connection. A Table must not say of one of them that it was refused: who gives a name back
// and hears that goes on as if it still had it. open makes a Table that uses the server at an
// address of its choice; the test closes it.
func LostAnswers(t *testing.T, addr string, open func(t *testing.T, addr, node string) ledger.Table) {
	p := newCutter(t, addr)
	e := newEnv(t, func(t *testing.T, node string) ledger.Table {
		if node[0] == 'a' {
			return open(t, p.Addr().String(), node)
		}
		return open(t, addr, node)
	})
	lost := 0
	for i := 0; i < 10 && lost < 4; i++ {
		e.name = fmt.Sprintf("tabletest:%s:%d", e.run, i)
		e.until(func() bool { // the connection that was cut is made anew
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := e.a.Look(ctx, e.name)
			return err == nil
		})
		held := e.granted(e.a)
		seen := e.look(e.a)
		p.cutting.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		_, err := e.a.Swap(ctx, e.step(e.a, seen, ledger.Op{Verb: ledger.Leave, Hold: held.ID}))
		cancel()
		p.cutting.Store(false)
		if is := e.look(e.b); is.Version == seen.Version || err == nil {
			continue
		}
		if lost++; errors.Is(err, backend.ErrRefused) || !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("write %d was carried out, but it is said that %v", i, err)
		}
	}
	if lost == 0 {
		t.Error("no answer was lost")
	}
}

// cutter passes connections on to a server. While it is cutting, one ends at the first byte
// that the server sends.
type cutter struct {
	net.Listener
	to      string
	cutting atomic.Bool

	mu    sync.Mutex // guards the field below
	conns []net.Conn
	wg    sync.WaitGroup
}

func newCutter(t *testing.T, to string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{Listener: l, to: to}
	c.wg.Go(c.accept)
	t.Cleanup(func() {
		_ = l.Close()
		c.mu.Lock()
		for _, x := range c.conns {
			_ = x.Close()
		}
		c.mu.Unlock()
		c.wg.Wait()
	})
	return c
}

func (c *cutter) accept() {
	for {
		client, err := c.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		c.mu.Lock()
		c.conns = append(c.conns, client, server)
		c.mu.Unlock()
		end := func() { _, _ = client.Close(), server.Close() }
		c.wg.Go(func() { _, _ = io.Copy(server, client); end() })
		c.wg.Go(func() { c.answers(client, server); end() })
	}
}

func (c *cutter) answers(client, server net.Conn) {
	b := make([]byte, 1<<16)
	for {
		n, err := server.Read(b)
		if err != nil || c.cutting.Load() {
			return
		}
		if _, err := client.Write(b[:n]); err != nil {
			return
		}
	}
}
