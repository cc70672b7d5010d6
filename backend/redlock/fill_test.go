package redlock

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// A renewal that set out when the hold still stood, and arrives late, does not set it
// again: neither after its own release, nor after somebody else's hold.
func TestLateRenewal(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, a, b *Backend, r backend.Request, s []*redistest.Server){
		"released": func(t *testing.T, a, _ *Backend, r backend.Request, _ []*redistest.Server) {
			if _, err := a.Release(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			arrived(t, a, r)
		},
		"another's meanwhile": func(t *testing.T, _, b *Backend, r backend.Request, servers []*redistest.Server) {
			for _, s := range servers {
				s.Client().Del(t.Context(), "x") // as if the lease had ended
			}
			if _, err := b.Acquire(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			arrived(t, b, r)
			for _, s := range servers {
				s.Client().Del(t.Context(), "x")
			}
		},
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			servers, backends := twoOver(t, 3)
			a, r := backends[0], backend.Request{Name: "x", Seq: 1, Owner: "o:1", TTL: 30 * time.Second, Turns: 2}
			granted, err := a.Acquire(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			arrived(t, a, r)
			known := *a.holds[placeOf(r)]
			r.Seq, r.Hold, r.Turn = 2, granted.Hold, granted.Hold
			end(t, a, backends[1], r, servers)
			a.holds[placeOf(r)] = &known
			for _, n := range a.nodes {
				if a.fill(t.Context(), n, placeOf(r), granted.Hold, r.TTL) {
					t.Errorf("%s has set it again", n.addr)
				}
			}
			errs, err := a.Renew(t.Context(), []backend.Renewal{{Name: "x", Hold: granted.Hold, TTL: r.TTL}})
			if err != nil || !errors.Is(errs[0], backend.ErrNotHeld) {
				t.Errorf("renew = %v, %v, want not held", errs, err)
			}
			if st, err := a.Inspect(t.Context(), "x"); err != nil || st.Held {
				t.Errorf("status = %+v, %v, want free", st, err)
			}
		})
	}
}

// twoOver starts servers, and two Backends over them.
func twoOver(t *testing.T, n int) ([]*redistest.Server, []*Backend) {
	t.Helper()
	var servers []*redistest.Server
	var addrs []string
	for range n {
		s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
		servers, addrs = append(servers, s), append(addrs, s.Addr)
	}
	backends := make([]*Backend, 2)
	for i, id := range []string{"a", "b"} {
		b, err := Open(t.Context(), Config{URL: "redlock://" + strings.Join(addrs, ","), FenceTTL: time.Hour, Node: backend.Node{ID: id}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		b.Listen(func(backend.Hint) {})
		for began := time.Now(); b.Ping(t.Context()) != nil && time.Since(began) < 10*time.Second; {
			time.Sleep(5 * time.Millisecond)
		}
		backends[i] = b
	}
	return servers, backends
}

// arrived waits until all nodes have carried out r. An answer comes from a majority of
// them; the request may still be under way to the others then.
func arrived(t *testing.T, b *Backend, r backend.Request) {
	t.Helper()
	floor := keysOf(r.Name).floor + b.contender(r.Slot)
	want := fmt.Sprintf("%d %d ", b.cfg.Node.Incarnation, r.Seq)
	for _, n := range b.nodes {
		for began := time.Now(); !strings.HasPrefix(n.client.Get(t.Context(), floor).Val(), want); time.Sleep(time.Millisecond) {
			if time.Since(began) > 10*time.Second {
				t.Fatalf("%s: request %d has not arrived", n.addr, r.Seq)
			}
		}
	}
}

// So it is with one of several holds: neither after its own release, nor after an
// exclusive hold by somebody else.
func TestLateRenewalOfShare(t *testing.T) {
	t.Parallel()
	for _, between := range []bool{false, true} {
		_, backends := twoOver(t, 3)
		a, r := backends[0], backend.Request{Name: "x", Slot: "1", Seq: 1, Owner: "o:1", TTL: 30 * time.Second, Turns: 1, Mode: backend.Shared}
		granted, err := a.Acquire(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		arrived(t, a, r)
		known := *a.holds[placeOf(r)]
		r.Seq, r.Hold, r.Turn = 2, granted.Hold, granted.Hold
		if _, err := a.Release(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		arrived(t, a, r)
		if between {
			x := backend.Request{Name: "x", Seq: 1, Owner: "p:1", TTL: 30 * time.Second, Turns: 1}
			held, err := backends[1].Acquire(t.Context(), x)
			if err != nil {
				t.Fatal(err)
			}
			x.Seq, x.Hold, x.Turn = 2, held.Hold, held.Hold
			if _, err := backends[1].Release(t.Context(), x); err != nil {
				t.Fatal(err)
			}
			arrived(t, backends[1], x)
			for _, n := range a.nodes { // as after a minute
				n.client.Del(t.Context(), keysOf("x").floor+a.contender("1"))
			}
		}
		a.holds[placeOf(r)] = &known
		for _, n := range a.nodes {
			if a.fill(t.Context(), n, placeOf(r), granted.Hold, r.TTL) {
				t.Errorf("%s has set it again", n.addr)
			}
		}
		errs, err := a.Renew(t.Context(), []backend.Renewal{{Name: "x", Slot: "1", Mode: backend.Shared, Hold: granted.Hold, TTL: r.TTL}})
		if err != nil || !errors.Is(errs[0], backend.ErrNotHeld) {
			t.Errorf("renew = %v, %v, want not held", errs, err)
		}
	}
}
