package conn

import (
	"testing"

	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// All Sentinels of the address may have moved elsewhere, one after the other.
func TestSentinelsMove(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, 1)
	opt, err := SentinelOptions(w.URL())
	if err != nil {
		t.Fatal(err)
	}
	c, o := newMaster(opt)
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatalf("at the start: %v", err)
	}
	redistest.Await(t, "the gateway has asked by itself", func() bool { return len(o.there()) == 1 })
	for range 2 {
		old := w.Sentinels[0]
		w.Another(1)
		o.ask(t.Context())
		old.Kill()
		w.Sentinels = w.Sentinels[1:]
		Anew(t.Context(), c)
		redistest.Await(t, "the master is found by the Sentinel that has come", func() bool { return c.Ping(t.Context()).Err() == nil })
	}
}

// Who is there is asked when a connection was made, and not at each.
func TestSentinelsAreLookedFor(t *testing.T) {
	t.Parallel()
	w := redistest.StartWatched(t, 2)
	opt, err := SentinelOptions(w.URL())
	if err != nil {
		t.Fatal(err)
	}
	opt.SentinelAddrs = opt.SentinelAddrs[:1]
	c, o := newMaster(opt)
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	redistest.Await(t, "the other Sentinel is known", func() bool { return len(o.there()) == 2 })
}
