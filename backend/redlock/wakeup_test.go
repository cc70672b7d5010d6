package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// linked is start with a link to each server for one gateway, and its URL.
func linked(t *testing.T, servers []*redistest.Server) ([]*redistest.Link, string) {
	t.Helper()
	var links []*redistest.Link
	var addrs []string
	for _, s := range servers {
		l := redistest.Proxy(t, s.Addr)
		links, addrs = append(links, l), append(addrs, l.Addr)
	}
	return links, "redlock://" + strings.Join(addrs, ",")
}

// The first node to release tells, and whoever waits asks at once. It is told again when
// those have released that had not when it asked.
func TestToldBeforeTheOthersKnow(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	links, url := linked(t, servers)
	a := ready(t, open(t, url, "", backend.Node{ID: "a", Incarnation: 1}))
	b := contend(t, servers, "b")
	granted, err := a.Acquire(t.Context(), request(1))
	if err != nil {
		t.Fatal(err)
	}
	asks := waits(t, b)
	for _, l := range links[1:] {
		l.Set(redistest.CloseOnReply)
		l.Set(redistest.BlackHole)
	}
	r := request(2)
	r.Hold, r.Turn = granted.Hold, granted.Hold
	if _, err := a.Release(t.Context(), r); !errors.Is(err, backend.ErrUnavailable) {
		t.Fatalf("release: %v, want that two nodes do not answer", err)
	}
	b.hears(t, backend.HintFree)
	if got, err := b.Acquire(t.Context(), asks); err != nil || !got.Queued || got.Wait < calm {
		t.Fatalf("acquire = %+v, %v, want to wait for two nodes", got, err)
	}
	for _, l := range links[1:] {
		l.Set(redistest.Pass)
	}
	r.Repeat = true
	eventually(t, "released", func() error {
		_, err := a.Release(t.Context(), r)
		return err
	})
	b.hears(t, backend.HintFree)
}

const calm = time.Second // longer than who was told to come again soon has to wait

// Of permits that are given back at once, each is told of: to the next who waits when
// the one before has taken its own, or does not want it any more.
func TestPermitsFreeAtOnce(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	a := contend(t, servers, "a")
	var ends []backend.Request
	for i := range 4 {
		r, got := share(t, a.Backend, fmt.Sprint(i), 4)
		r.Seq, r.Hold, r.Turn, r.Attempt = 2, got.Hold, got.Hold, 1
		ends = append(ends, r)
	}
	var waiters []contender
	r := request(1)
	r.Mode, r.Turns, r.Queue = 4, 1, true
	for i := range 4 {
		w := contend(t, servers, fmt.Sprint("w", i))
		if got, err := w.Acquire(t.Context(), r); err != nil || !got.Queued {
			t.Fatalf("acquire = %+v, %v, want to wait", got, err)
		}
		waiters = append(waiters, w)
		time.Sleep(20 * time.Millisecond) // their order is by milliseconds of the nodes
	}
	for _, e := range ends {
		if _, err := a.Release(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	for i, w := range waiters {
		w.hears(t, backend.HintFree)
		if i == 1 { // does not want it any more
			gone := r
			gone.Seq, gone.Attempt = 2, 1
			if err := w.Cancel(t.Context(), gone); err != nil {
				t.Fatal(err)
			}
		} else if got, err := w.Acquire(t.Context(), r); err != nil || !got.Granted {
			t.Errorf("waiter %d: acquire = %+v, %v", i, got, err)
		}
	}
}

// The end of one of several holds, told again to a node that does not have it, does not
// keep the others from being set there again.
func TestEndOfAShareIsItsOwn(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	b := ready(t, open(t, urlOf(servers), "", backend.Node{ID: "a", Incarnation: 1}))
	_, stays := share(t, b, "1", backend.Shared)
	gone, a := share(t, b, "2", backend.Shared)
	if err := servers[0].Client().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	end := backend.Request{Name: "x", Slot: "2", Seq: 2, Hold: a.Hold, Attempt: gone.Seq, Turn: a.Hold} // as the session asks
	for range 2 {
		if _, err := b.Release(t.Context(), end); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "set again", func() error {
		errs, err := b.Renew(t.Context(), []backend.Renewal{{Name: "x", Slot: "1", Mode: backend.Shared, Hold: stays.Hold, TTL: ttl}})
		if err := errors.Join(append(errs, err)...); err != nil {
			t.Fatal(err)
		}
		if servers[0].Client().Exists(t.Context(), "x").Val() == 0 {
			return errors.New("the other hold is missing on the node")
		}
		return nil
	})
}

// Who asks once and hears of a holder before all nodes have answered leaves nothing.
func TestNothingIsLeftOfOneWhoAsksOnce(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	links, url := linked(t, servers)
	b := ready(t, open(t, url, "", backend.Node{ID: "a", Incarnation: 1}))
	servers[0].Client().HSet(t.Context(), "x", "other:1", 1)
	links[1].Delay(300 * time.Millisecond)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if got, err := b.Acquire(ctx, request(1)); err == nil || !errors.Is(err, backend.ErrHeld) {
		t.Fatalf("acquire = %+v, %v, want held", got, err)
	}
	for _, s := range servers[1:] {
		eventually(t, "nothing is left", func() error {
			if s.Client().Exists(t.Context(), "x").Val() != 0 {
				return errors.New("a node holds the name for nobody")
			}
			return nil
		})
	}
}

// A contender of a node is as old as it is, whatever others of the node ask.
func TestContendersOfANodeApart(t *testing.T) {
	t.Parallel()
	b := ready(t, open(t, urlOf(start(t, 3, durable...)), "", backend.Node{ID: "a", Incarnation: 1}))
	for i, slot := range []string{"", "1"} {
		r := request(uint64(5 + 2*i))
		r.Slot = slot
		got, err := b.Acquire(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		r.Seq, r.Hold, r.Turn = r.Seq+1, got.Hold, got.Hold
		if _, err := b.Release(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := b.Acquire(t.Context(), request(4)); !errors.Is(err, backend.ErrStale) {
		t.Errorf("an overtaken request: %+v, %v, want %v", got, err, backend.ErrStale)
	}
}
