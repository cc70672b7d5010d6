package session_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// bubble runs f under a fake clock.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, f)
}

// fakeClock reads the bubble's clock.
func fakeClock() session.Clock { return new(jumpy).now }

// jumpy is the bubble's clock, but may jump as CLOCK_BOOTTIME does while a
// machine sleeps: ahead, and without any timer.
type jumpy struct {
	mu     sync.Mutex
	begin  time.Time
	ahead  time.Duration
	caller string // jump when this function asks for the time,
	hook   func() // by doing this
}

func (c *jumpy) now() time.Duration {
	c.mu.Lock()
	if c.begin.IsZero() {
		c.begin = time.Now().Add(-time.Hour)
	}
	hook := c.hook
	if hook != nil && calledBy(c.caller) {
		c.hook = nil
	} else {
		hook = nil
	}
	c.mu.Unlock()
	if hook != nil {
		hook()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.begin) + c.ahead
}

func (c *jumpy) jump(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// when has hook run once, as soon as the function named caller reads the clock.
func (c *jumpy) when(caller string, hook func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.caller, c.hook = caller, hook
}

func calledBy(name string) bool {
	pc := make([]uintptr, 16)
	frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, name) {
			return true
		}
		if !more {
			return false
		}
	}
}

// cluster is some gateways over one store.
type cluster struct {
	t     *testing.T
	rows  *memory.Rows
	nodes []*session.Manager
}

// newCluster starts n gateways; wrap, if given, is put around each one's store.
func newCluster(t *testing.T, n int, cfg session.Config, wrap func(i int, b ledger.Table) ledger.Table) *cluster {
	t.Helper()
	c := &cluster{t: t, rows: memory.NewRows()}
	if cfg.Clock == nil {
		cfg.Clock = fakeClock()
	}
	c.rows.Clock, c.rows.Keep = cfg.Clock, true
	for i := range n {
		var b ledger.Table = memory.OpenTable(c.rows, fmt.Sprintf("n%d", i))
		if wrap != nil {
			b = wrap(i, b)
		}
		cfg.Node = fmt.Sprintf("node-%d", i)
		m := session.New(b, cfg)
		c.nodes = append(c.nodes, m)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := m.Close(ctx); err != nil {
				t.Errorf("close: %v", err)
			}
			if f, ok := b.(*faulty); ok {
				f.end()
			}
			_ = b.Close()
		})
	}
	return c
}

// record is what the store has of a name, as a node sees it that is no gateway.
func (c *cluster) record(name string) ledger.Record {
	c.t.Helper()
	r, err := memory.OpenTable(c.rows, "witness").Look(c.t.Context(), name)
	if err != nil {
		c.t.Fatal(err)
	}
	return r.Record
}

// version of the record of name.
func (c *cluster) version(name string) ledger.Version {
	c.t.Helper()
	r, err := memory.OpenTable(c.rows, "witness").Look(c.t.Context(), name)
	if err != nil {
		c.t.Fatal(err)
	}
	return r.Version
}

// entries is how often the holder of name has entered, as the store knows; 0: nobody holds.
func (c *cluster) entries(name string) int {
	c.t.Helper()
	for _, h := range c.record(name).Holds {
		if len(h.Callers) > 0 {
			return h.Callers[0].Entries
		}
	}
	return 0
}

// open makes a session on the i-th gateway.
func (c *cluster) open(i int, o ...session.Options) *session.Session {
	c.t.Helper()
	opt := session.Options{Peer: session.NoPeer()}
	if len(o) > 0 {
		opt = o[0]
	}
	s, _, err := c.nodes[i].Open(opt)
	if err != nil {
		c.t.Fatalf("open: %v", err)
	}
	return s
}

func mustAcquire(t *testing.T, s *session.Session, name string, a session.Acquire) *session.Lease {
	t.Helper()
	g, err := s.Acquire(t.Context(), name, a)
	if err != nil {
		t.Fatalf("acquire %s: %v", name, err)
	}
	return g.Lease
}

func mustRelease(t *testing.T, s *session.Session, name string) {
	t.Helper()
	if _, err := s.Release(t.Context(), name, 1, false, ""); err != nil {
		t.Fatalf("release %s: %v", name, err)
	}
}

func wantCode(t *testing.T, err error, want session.Code) {
	t.Helper()
	if err == nil || session.CodeOf(err) != want {
		t.Errorf("err = %v, want code %s", err, want)
	}
}

// held says whether l is held now.
func held(l *session.Lease) bool { _, err := l.View(); return err == nil }

// faulty is a store that fails when its hooks say so. The verbs are acquire (a write that
// grants), release (one that leaves nothing of the node), write (any other), join, look
// and renew.
type faulty struct {
	ledger.Table
	mu     sync.Mutex              // guards before and after once the gateway runs, and over
	before func(verb string) error // an error: the request does not arrive
	after  func(verb string) error // an error: the answer does not
	drop   func(m ledger.Addressed) bool
	over   bool                     // see end
	early  *ledger.Addressed        // comes as soon as somebody listens
	wg     sync.WaitGroup           // requests on their way
	tell   func(m ledger.Addressed) // tells the gateway of a message, as the store would
}

// set changes the hooks.
func (f *faulty) set(before, after func(verb string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.after = before, after
}

// always fails every request of the verbs, or every one at all.
func always(err error, verbs ...string) func(string) error {
	return func(v string) error {
		if len(verbs) == 0 || slices.Contains(verbs, v) {
			return err
		}
		return nil
	}
}

// around does a request under f's hooks. A request that is slow is executed late,
// after its sender has given up.
func around[T any](ctx context.Context, f *faulty, verb string, do func() (T, error)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	done := make(chan answer, 1)
	begun := f.begin(func() {
		var a answer
		f.mu.Lock()
		before, after := f.before, f.after
		f.mu.Unlock()
		if before != nil {
			a.err = before(verb)
		}
		if a.err == nil {
			a.v, a.err = do()
			if after != nil {
				if lost := after(verb); lost != nil {
					a.err = lost
				}
			}
		}
		done <- a
	})
	if !begun {
		done <- answer{err: errLost}
	}
	select {
	case a := <-done:
		return a.v, a.err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("%w: %w", backend.ErrUnavailable, ctx.Err())
	}
}

// begin has request carried out, unless f is over.
func (f *faulty) begin(request func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.over {
		f.wg.Go(request)
	}
	return !f.over
}

// end waits for the requests on their way. What comes later does not arrive.
func (f *faulty) end() {
	f.mu.Lock()
	f.over = true
	f.mu.Unlock()
	f.wg.Wait()
}

func (f *faulty) Swap(ctx context.Context, s ledger.Swap) (ledger.Reply, error) {
	verb := "write"
	if s.Effects.Grants {
		verb = "acquire"
	} else if !s.Record.Has(f.Node()) {
		verb = "release"
	}
	return around(ctx, f, verb, func() (ledger.Reply, error) { return f.Table.Swap(ctx, s) })
}

func (f *faulty) Join(ctx context.Context, name string, e ledger.Entry, floor backend.Fence) (ledger.Reply, error) {
	return around(ctx, f, "join", func() (ledger.Reply, error) { return f.Table.Join(ctx, name, e, floor) })
}

func (f *faulty) Look(ctx context.Context, name string) (ledger.Reply, error) {
	return around(ctx, f, "look", func() (ledger.Reply, error) { return f.Table.Look(ctx, name) })
}

func (f *faulty) Renew(ctx context.Context, rs []ledger.Renewal) ([]error, error) {
	return around(ctx, f, "renew", func() ([]error, error) { return f.Table.Renew(ctx, rs) })
}

func (f *faulty) Listen(g func(ledger.Addressed)) {
	f.tell = g
	if f.early != nil {
		g(*f.early)
	}
	f.Table.Listen(func(m ledger.Addressed) {
		if f.drop == nil || !f.drop(m) {
			g(m)
		}
	})
}

// wait acquires in the background; the channel yields the lease, or is closed
// when there is none.
func wait(t *testing.T, s *session.Session, name string, a session.Acquire) <-chan *session.Lease {
	t.Helper()
	got := make(chan *session.Lease, 1)
	go func() {
		defer close(got)
		if g, err := s.Acquire(context.Background(), name, a); err == nil {
			got <- g.Lease
		}
	}()
	synctest.Wait()
	return got
}

// within fails unless the lease is there after at most d.
func within(t *testing.T, d time.Duration, got <-chan *session.Lease) *session.Lease {
	t.Helper()
	select {
	case l := <-got:
		if l == nil {
			t.Fatal("not granted")
		}
		return l
	case <-time.After(d + time.Millisecond):
		t.Fatalf("not granted within %v", d)
		return nil
	}
}

// hooked is a cluster's wrap with hooks on the first gateway's store.
func hooked(f *faulty) func(int, ledger.Table) ledger.Table {
	return func(i int, b ledger.Table) ledger.Table {
		if i > 0 {
			return b
		}
		f.Table = b
		return f
	}
}

var errLost = fmt.Errorf("%w: connection reset", backend.ErrUnavailable)

// is reports whether err has the code.
func is(err error, c session.Code) bool {
	return err != nil && session.CodeOf(err) == c && !errors.Is(err, context.Canceled)
}
