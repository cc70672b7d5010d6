package redlock_test

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/redlock"
)

// contender is a Backend with what it was told.
type contender struct {
	*redlock.Backend
	hints chan backend.Hint
}

func contend(t *testing.T, servers []*redistest.Server, id string) contender {
	t.Helper()
	c := contender{open(t, urlOf(servers), "", backend.Node{ID: id, Incarnation: 1}), make(chan backend.Hint, 100)}
	c.Listen(func(h backend.Hint) {
		if h.Kind != backend.HintResync {
			c.hints <- h
		}
	})
	eventually(t, "ready", func() error { return c.Ping(t.Context()) })
	return c
}

func (c contender) hears(t *testing.T, k backend.HintKind) {
	t.Helper()
	timeout := time.After(limit)
	for {
		select {
		case h := <-c.hints:
			if h.Kind == k && h.Name == "x" {
				return
			}
		case <-timeout:
			t.Fatalf("no hint %d within %v", k, limit)
		}
	}
}

func waits(t *testing.T, c contender) backend.Request {
	t.Helper()
	r := request(1)
	r.Queue = true
	if a, err := c.Acquire(t.Context(), r); err != nil || !a.Queued {
		t.Fatalf("acquire = %+v, %v, want to wait", a, err)
	}
	return r
}

// A release is told to the first who waits; the second watches, and takes its place
// when the first does not want the name any more.
func TestWhoIsTold(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	a, b, c, d := contend(t, servers, "a"), contend(t, servers, "b"), contend(t, servers, "c"), contend(t, servers, "d")
	granted, err := a.Acquire(t.Context(), request(1))
	if err != nil {
		t.Fatal(err)
	}
	first := waits(t, b)
	time.Sleep(20 * time.Millisecond) // their order is by milliseconds of the nodes
	waits(t, c)
	time.Sleep(20 * time.Millisecond)
	waits(t, d)
	a.hears(t, backend.HintOthers)
	r := request(2)
	r.Hold, r.Turn = granted.Hold, granted.Hold
	if _, err := a.Release(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	b.hears(t, backend.HintFree)
	c.hears(t, backend.HintWatch)
	gone := first
	gone.Seq, gone.Attempt = 2, first.Seq
	if err := b.Cancel(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	c.hears(t, backend.HintFree)
	d.hears(t, backend.HintWatch)
}

// Who waits is told once, however many nodes tell of the same release, and messages
// that mean nothing are ignored.
func TestMessages(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	a, b := contend(t, servers, "a"), contend(t, servers, "b")
	granted, err := a.Acquire(t.Context(), request(1))
	if err != nil {
		t.Fatal(err)
	}
	waits(t, b)
	r := request(2)
	r.Hold, r.Turn = granted.Hold, granted.Hold
	if _, err := a.Release(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	b.hears(t, backend.HintFree)
	for _, s := range servers {
		for _, payload := range []string{"", "f", "f - x", "f 99 - x y", "f x - x", "f -1 - x", "q 99 - x", "f 99999999999999999999 - x", "f 99 - other", "f 7 - x"} {
			if err := s.Client().Publish(t.Context(), "lockgw:node:b:1", payload).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Client().Publish(t.Context(), "lockgw:node:b:1", "o - x").Err(); err != nil {
			t.Fatal(err)
		}
	}
	for others := 0; others < len(servers); { // after all that was published before them
		select {
		case h := <-b.hints:
			if h.Kind != backend.HintOthers {
				t.Errorf("hint = %+v, want none but that others wait", h)
			} else {
				others++
			}
		case <-time.After(limit):
			t.Fatal("messages do not arrive")
		}
	}
}

// Nodes whose floors differ, or that have different ballots of one's own, agree at the
// second ballot.
func TestSecondBallot(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	b := ready(t, open(t, urlOf(servers), "", backend.Node{ID: "a", Incarnation: 1}))
	ctx := t.Context()
	ahead := uint64(time.Now().Add(time.Hour).UnixMicro())
	for i, s := range servers[1:] {
		if err := s.Client().Set(ctx, "redisson_lock_token:{x}", ahead+uint64(i), 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	a, err := b.Acquire(ctx, request(1))
	if err != nil || a.Hold <= backend.Fence(ahead+1) {
		t.Fatalf("acquire = %+v, %v, want a fence above %d", a, err, ahead+1)
	}
	r := request(2)
	r.Hold, r.Block = a.Hold, a.Block
	for _, s := range servers[:2] {
		if err := s.Client().Set(ctx, "redisson_lock_token:{x}", 2*ahead, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	x, err := b.Extend(ctx, r)
	if err != nil || x.Hold != a.Hold || x.Block <= backend.Fence(2*ahead) {
		t.Errorf("extend = %+v, %v, want hold %d and a block above %d", x, err, a.Hold, 2*ahead)
	}
	again, err := b.Extend(ctx, r)
	if err != nil || again.Block != x.Block {
		t.Errorf("repeat = %+v, %v, want block %d", again, err, x.Block)
	}
}
