package etcd

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/etcd/etcdtest"
	"github.com/lockgw/lockgw/backend/ledger"
)

// What was granted after a copy was made is forgotten when that is put in place: nobody is
// granted anything until it is over, while its holder may write it down again. So it is for
// a gateway that was running, and for one that begins then.
func TestRestored(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	const lease = 6 * time.Second
	a, b := guarded(t, s, "a", lease), guarded(t, s, "b", lease)
	a.Take("before")
	s.Kill()
	copied := s.Copy()
	s.Restart()
	b.Take("else")
	granted := a.TakeFor("n", time.Minute)
	held := granted.Record.Firm("a")
	// The keys of both are newer than the copy, as they are after ten seconds by themselves.
	for _, to := range []*client{a, b} {
		a.Reach(to.Client)
	}
	s.Restore(copied)
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var r ledger.Reply
		if r, err = b.Try("n", ledger.Op{Want: 1}); err == nil {
			t.Fatalf("what is held is granted again: %+v", r)
		}
		if late := new(backend.Later); errors.As(err, &late) {
			if late.After <= 0 || late.After > 15*time.Second {
				t.Errorf("it says for how long: %v", late.After)
			}
			break
		}
	}
	if !errors.Is(err, backend.ErrRefused) {
		t.Fatalf("the error is %v", err)
	}
	if err := b.Ping(t.Context()); !errors.Is(err, backend.ErrRefused) {
		t.Errorf("ping = %v", err)
	}
	if r, err := b.Look(t.Context(), "n"); err != nil || r.Refusing == "" {
		t.Errorf("look = %+v, %v", r, err)
	}
	c := guarded(t, s, "c", lease)
	var late *backend.Later
	for end := time.Now().Add(patience); !errors.As(err, &late) && time.Now().Before(end); {
		_, err = c.Try("n", ledger.Op{Want: 1})
	}
	if !errors.Is(err, backend.ErrRefused) {
		t.Errorf("a gateway that begins now: %v", err)
	}
	// The holder says what it had.
	seen, err := a.Look(t.Context(), "n")
	if err != nil || seen.Version != "" {
		t.Fatalf("the copy is not an older one: %+v, %v", seen, err)
	}
	op := ledger.Op{Verb: ledger.Reclaim, Node: "a", Hold: held.ID, Keep: 1, Turns: 1, Restore: true, Floor: held.ID, TTL: time.Minute}
	next, effects := ledger.Step(seen.Record, op, 0)
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		r, err := a.Swap(t.Context(), ledger.Swap{Name: "n", Record: next, Effects: effects, Absolute: true})
		if err == nil && r.Written {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the holder cannot write it down again: ", err)
		}
	}
	b.Take("other") // once it is over
	if r := b.Ask("n", ledger.Op{Want: 1, Lapse: true}); r.Record.Firm("a") == nil || r.Record.Firm("a").ID != held.ID {
		t.Errorf("there is %+v, want the hold of a", r)
	}
}

// A gateway that has written nothing since the copy was made, but for the key of its messages, knows
// by that alone. It waits, too, also where nobody else is there to notice.
func TestRestoredBeforeTheIdle(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	a, b := guarded(t, s, "a", 6*time.Second), guarded(t, s, "b", 6*time.Second)
	a.Take("before")
	b.Take("else") // later than what a has written
	s.Kill()
	copied := s.Copy()
	s.Restart()
	b.TakeFor("n", time.Minute)
	b.Reach(a.Client) // as after ten seconds by itself
	_ = b.Close()
	s.Restore(copied)
	for end := time.Now().Add(patience); a.distrust() == nil; time.Sleep(20 * time.Millisecond) {
		if r, err := a.Try("n", ledger.Op{Want: 1}); err == nil && r.Record.Firm("a") != nil {
			t.Fatal("what is held is granted again")
		}
		if time.Now().After(end) {
			t.Fatal("it is not noticed")
		}
	}
}

// What a node remembers of a store that was restored since is not taken for what is there now,
// although it stands at the same revision again.
func TestRemembered(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	a, b := guarded(t, s, "a", time.Second), guarded(t, s, "b", time.Second)
	raw := etcdtest.Client(t, s)
	a.Take("other")
	s.Kill()
	copied := s.Copy()
	s.Restart()
	pad := func() int64 {
		r, err := raw.Put(t.Context(), "pad", "")
		for end := time.Now().Add(patience); err != nil && time.Now().Before(end); r, err = raw.Put(t.Context(), "pad", "") {
		}
		if err != nil {
			t.Fatal(err)
		}
		return r.Header.Revision
	}
	for range 200 {
		pad()
	}
	held, idle, left := "held-%d", "idle-%d", "left-%d"
	const each = 4 // a revision may go to somebody else's write
	remembered, at := map[string]ledger.Reply{}, map[string]at{}
	for i := range each {
		for _, kind := range []string{held, idle, left} {
			name := fmt.Sprintf(kind, i)
			for range 10 { // room for writes of others
				pad()
			}
			a.Take(name)
			remembered[name] = a.Ask(name, ledger.Op{Verb: ledger.Leave})
			x, _ := a.seen.find(name, remembered[name].Version)
			at[name] = x.at
		}
	}
	before := a.Resync.Load()
	s.Restore(copied)
	for end := time.Now().Add(patience); a.Resync.Load() == before || a.distrust() != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the restored store is not used")
		}
	}
	values := map[string]string{}
	top := map[string]backend.Fence{}
	for name := range remembered {
		r := b.TakeFor(name, time.Hour)
		if !strings.HasPrefix(name, "held") {
			r = b.Ask(name, ledger.Op{Verb: ledger.Leave})
		}
		top[name] = r.Record.Top
		kv, err := raw.Get(t.Context(), a.keys.record(name))
		if err != nil || kv.Count != 1 {
			t.Fatal(kv, err)
		}
		values[name] = string(kv.Kvs[0].Value)
	}
	_ = b.Close() // it writes no more
	tried := map[string]int{}
	for i := range each {
		for _, kind := range []string{held, idle, left} {
			name := fmt.Sprintf(kind, i)
			rev := at[name].rev
			for pad() < rev-1 {
			}
			if r, err := raw.Put(t.Context(), a.keys.record(name), values[name]); err != nil || r.Header.Revision != rev {
				continue // somebody was between
			}
			if tried[kind]++; kind == idle {
				a.seen = seen{} // as if it were long ago
			}
			if kind == left {
				if err := a.delete(t.Context(), map[string]leftover{name: {at: at[name]}}); err != nil {
					t.Fatal(err)
				}
				if r, err := a.Look(t.Context(), name); err != nil || r.Record.Top != top[name] {
					t.Errorf("%s was deleted as a left it: there is %+v, %v", name, r, err)
				}
				continue
			}
			next, effects := ledger.Step(remembered[name].Record, ledger.Op{Node: "a", Want: 1, Turns: 1, TTL: time.Second}, 0)
			r, err := a.Swap(t.Context(), ledger.Swap{Name: name, Base: remembered[name].Version, Record: next, Effects: effects})
			if err != nil || r.Written || r.Record.Top != top[name] {
				t.Errorf("%s was swapped for what b has written: %+v, %v", name, r, err)
			}
		}
	}
	if len(tried) != 3 {
		t.Errorf("the same revision came again only for %v", tried)
	}
}

// A gateway that has seen what etcd has not come to notices, also if nothing was written to its
// own key meanwhile; and one whose key has gone back, also if etcd has come further since.
func TestGoneBack(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	for name, before := range map[string]func(g *guard){
		"revision": func(g *guard) { g.newest = 1 << 40 },
		"key":      func(g *guard) { g.pulse = 1 << 40 },
	} {
		a := listen(t, etcdtest.URL(s)+"/"+name, "a")
		a.Take("n")
		a.guard.mu.Lock()
		before(&a.guard)
		a.guard.mu.Unlock()
		for end := time.Now().Add(patience); a.distrust() == nil; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: a trusts what is older than what it has seen", name)
			}
		}
	}
}

// It is noticed again if etcd could not be told the first time, or if another gateway, which has
// noticed nothing, has written down just then which etcd it is.
func TestGoneBackIsToldInTheEnd(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	raw := etcdtest.Client(t, s)
	for name, once := range map[string]struct {
		method  string
		happens func(a *Table) error
	}{
		"etcd takes no lease": {"/etcdserverpb.Lease/LeaseGrant", func(*Table) error { return status.Error(codes.Unavailable, "no leader") }},
		"another is faster": {"/etcdserverpb.KV/Txn", func(a *Table) error {
			_, err := raw.Put(t.Context(), a.keys.cluster(), strconv.FormatUint(a.guard.cluster, 16))
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a := open(t, etcdtest.URL(s)+"/"+strings.ReplaceAll(name, " ", "-"), "a")
			defer a.Close()
			done := true
			c, err := clientv3.New(clientv3.Config{Endpoints: raw.Endpoints(), DialOptions: []grpc.DialOption{grpc.WithUnaryInterceptor(
				func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
					if method == once.method && !done {
						done = true
						if err := once.happens(a); err != nil {
							return err
						}
					}
					return invoke(ctx, method, req, reply, cc, opts...)
				})}})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := a.inspect(t.Context(), c); err != nil || a.distrust() != nil {
				t.Fatalf("the first time: %v, %v", err, a.distrust())
			}
			a.guard.saw(&pb.ResponseHeader{Revision: 1 << 40})
			done = false
			first := a.inspect(t.Context(), c)
			if err := a.inspect(t.Context(), c); err != nil || a.distrust() == nil {
				t.Errorf("a trusts what is older than what it has seen: %v, and then %v", first, err)
			}
			err = a.inspect(t.Context(), c)
			if newest, _ := a.guard.seen(); err != nil || !done || newest >= 1<<40 {
				t.Errorf("it does not take the store for the present one: %v, %d", err, newest)
			}
		})
	}
}

func guarded(t *testing.T, s *etcdtest.Server, node string, lease time.Duration) *client {
	t.Helper()
	table, err := OpenTable(Config{URL: etcdtest.URL(s), Node: backend.Node{ID: node}, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	return listens(t, table)
}
