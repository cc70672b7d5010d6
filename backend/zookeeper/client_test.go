package zookeeper

import (
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum/quorumtest"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
)

// client is a Table that listens.
type client struct {
	*Table
	*quorumtest.Client
}

func listen(t *testing.T, url, node string, with ...func(*Config)) *client {
	t.Helper()
	cfg := Config{URL: url, Node: backend.Node{ID: node}}
	for _, f := range with {
		f(&cfg)
	}
	table, err := OpenTable(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &client{table, quorumtest.Listen(t, table)}
}

const patience = quorumtest.Patience

// hold is what TakeFor got.
func (c *client) hold(name string, ttl time.Duration) *ledger.Hold {
	r := c.TakeFor(name, ttl)
	return r.Record.Firm(c.Node())
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// wire is a way to a server that can be cut.
type wire struct {
	addr string
	to   string

	mu    sync.Mutex // guards the fields below
	conns []net.Conn
	// off: nobody gets through. mute: answers are held back. last: the next answer to a large
	// request is thrown away, and the connection ended.
	off, mute bool
	last      int
	thrown    int
}

func newWire(t *testing.T, s *zktest.Server) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{addr: l.Addr().String(), to: s.Addr}
	t.Cleanup(func() { l.Close(); w.set(func() { w.off = true }) })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.carry(c)
		}
	}()
	return w
}

// url is that of the table below chroot, over the wire and then over others.
func (w *wire) url(chroot string, others ...string) string {
	return "zookeeper://" + strings.Join(append([]string{w.addr}, others...), ",") + "/" + chroot + "?" + zktest.Settings
}

func (w *wire) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f(); w.off {
		for _, c := range w.conns {
			c.Close()
		}
		w.conns = nil
	}
}

func (w *wire) carry(c net.Conn) {
	defer c.Close()
	s, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer s.Close()
	w.mu.Lock()
	if w.off {
		w.mu.Unlock()
		return
	}
	w.conns = append(w.conns, c, s)
	w.mu.Unlock()
	var large atomic.Bool
	go func() {
		defer s.Close()
		b := make([]byte, 1<<20)
		for {
			n, err := c.Read(b)
			w.mu.Lock()
			if w.last > 0 && n > w.last {
				large.Store(true)
				w.last = 0
			}
			w.mu.Unlock()
			if err != nil {
				return
			}
			if _, err := s.Write(b[:n]); err != nil {
				return
			}
		}
	}()
	b := make([]byte, 1<<20)
	for {
		n, err := s.Read(b)
		if large.Load() {
			w.set(func() { w.thrown++ })
			return
		}
		w.mu.Lock()
		mute := w.mute
		w.mu.Unlock()
		if err != nil {
			return
		}
		if mute {
			_, _ = io.Copy(io.Discard, s)
			return
		}
		if _, err := c.Write(b[:n]); err != nil {
			return
		}
	}
}
