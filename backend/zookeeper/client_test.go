package zookeeper

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
)

// client is a Table and what was told to it.
type client struct {
	*Table
	t      *testing.T
	resync atomic.Int64
	told   chan ledger.Addressed
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
	c := &client{Table: table, t: t, told: make(chan ledger.Addressed, 10_000)}
	c.Listen(func(m ledger.Addressed) {
		if m.Kind == ledger.Resync {
			c.resync.Add(1)
			return
		}
		c.told <- m
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

const patience = time.Minute

// ask does op to what is there now, until there is an answer.
func (c *client) ask(name string, op ledger.Op) ledger.Reply {
	c.t.Helper()
	var last error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		r, err := c.try(name, op)
		if err == nil && r.Written {
			return r
		}
		last = err
	}
	c.t.Fatalf("no answer in %v: %v", patience, last)
	return ledger.Reply{}
}

func (c *client) try(name string, op ledger.Op) (ledger.Reply, error) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Second)
	defer cancel()
	r, err := c.Look(ctx, name)
	if err != nil {
		return r, err
	}
	op.Node, op.Turns, op.OfferTTL = c.Node(), 1, time.Second
	if op.TTL == 0 {
		op.TTL = time.Second
	}
	if h := r.Record.Firm(c.Node()); op.Verb == ledger.Leave && h != nil {
		op.Hold = h.ID
	}
	next, effects := ledger.Step(r.Record, op, 0)
	return c.Swap(ctx, ledger.Swap{Name: name, Base: r.Version, Record: next, Effects: effects})
}

func (c *client) take(name string) ledger.Reply {
	c.t.Helper()
	return c.takeFor(name, time.Second)
}

func (c *client) takeFor(name string, ttl time.Duration) ledger.Reply {
	c.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		r := c.ask(name, ledger.Op{Want: 1, Lapse: true, TTL: ttl})
		if r.Record.Firm(c.Node()) != nil {
			return r
		}
		if time.Now().After(end) {
			c.t.Fatalf("%s was not granted: %+v", name, r)
		}
	}
}

// hold is what takeFor got.
func (c *client) hold(name string, ttl time.Duration) *ledger.Hold {
	c.t.Helper()
	r := c.takeFor(name, ttl)
	return r.Record.Firm(c.Node())
}

func (c *client) leave(name string) { c.t.Helper(); c.ask(name, ledger.Op{Verb: ledger.Leave}) }

func (c *client) renew(name string, id backend.Fence, ttl time.Duration) error {
	c.t.Helper()
	errs, err := c.Renew(c.t.Context(), []ledger.Renewal{{Name: name, ID: id, TTL: ttl}})
	if err != nil {
		return err
	}
	return errs[0]
}

func (c *client) hears(k ledger.Kind) ledger.Addressed {
	c.t.Helper()
	for end := time.After(patience); ; {
		select {
		case m := <-c.told:
			if m.Kind == k {
				return m
			}
		case <-end:
			c.t.Fatalf("%s is not told %d", c.Node(), k)
		}
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// reach has from send to the other until that hears it: it may begin anew to listen just then.
func reach(t *testing.T, from, to *client) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		m := ledger.Addressed{Name: "reach", Message: ledger.Message{Node: to.Node(), Kind: ledger.Tell}}
		if err := from.Send(t.Context(), []ledger.Addressed{m}); err != nil {
			continue
		}
		for wait := time.After(200 * time.Millisecond); ; {
			select {
			case got := <-to.told:
				if got.Name == "reach" {
					return
				}
				continue
			case <-wait:
			}
			break
		}
	}
	t.Fatalf("%s hears nothing of %s", to.Node(), from.Node())
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
