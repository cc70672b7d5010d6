package redlock_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/backend/redlock"
)

const (
	ttl   = 30 * time.Second
	limit = 10 * time.Second // what has to happen happens by then, on a busy machine, too
)

// eventually waits until f says nil.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	var err error
	for began := time.Now(); time.Since(began) < limit; time.Sleep(20 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v after %v", what, err, limit)
}

func ready(t *testing.T, b *redlock.Backend) *redlock.Backend {
	t.Helper()
	b.Listen(func(backend.Hint) {})
	eventually(t, "ready", func() error { return b.Ping(t.Context()) })
	return b
}

func request(seq uint64) backend.Request {
	return backend.Request{Name: "x", Seq: seq, Owner: "o:1", TTL: ttl, Turns: 2, Record: "r"}
}

// cycle does all that a holder does, and says what failed.
func cycle(t *testing.T, b *redlock.Backend, seq uint64) error {
	t.Helper()
	ctx := t.Context()
	a, err := b.Acquire(ctx, request(seq))
	if err != nil {
		return err
	}
	r := request(seq + 1)
	r.Hold, r.Block = a.Hold, a.Block
	if x, err := b.Extend(ctx, r); err != nil || x.Block <= a.Block {
		return errors.Join(errors.New("extend: no new block"), err)
	}
	if errs, err := b.Renew(ctx, []backend.Renewal{{Name: "x", Hold: a.Hold, TTL: ttl}}); err != nil || errs[0] != nil {
		return errors.Join(err, errs[0])
	}
	r = request(seq + 2)
	r.Hold, r.Turn, r.Count, r.Owner = a.Hold, a.Hold+1, 2, "p:1"
	if err := b.Describe(ctx, r); err != nil {
		return err
	}
	if st, err := b.Inspect(ctx, "x"); err != nil || st.Hold != a.Hold || st.Owner != "p:1" || st.Count != 2 {
		t.Errorf("status = %+v, %v, want hold %d of p:1", st, err, a.Hold)
	}
	r = request(seq + 3)
	r.Hold, r.Turn = a.Hold, a.Hold+1
	if _, err := b.Release(ctx, r); err != nil {
		return err
	}
	if st, err := b.Inspect(ctx, "x"); err != nil || st.Held || st.Top != a.Hold+1 {
		t.Errorf("status = %+v, %v, want free, and %d as the last fence", st, err, a.Hold+1)
	}
	return nil
}

// One and two nodes of five may be down, hang or be slow; three may not.
func TestNodesFail(t *testing.T) {
	faults := []struct {
		name       string
		fail, mend func(*redistest.Server, *redistest.Link)
	}{
		{"down", func(s *redistest.Server, _ *redistest.Link) { s.Kill() }, func(s *redistest.Server, _ *redistest.Link) { s.Restart() }},
		{"hanging", func(s *redistest.Server, _ *redistest.Link) { s.Pause() }, func(s *redistest.Server, _ *redistest.Link) { s.Resume() }},
		{"slow", func(_ *redistest.Server, l *redistest.Link) { l.Delay(time.Second) }, func(_ *redistest.Server, l *redistest.Link) { l.Delay(0) }},
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			servers := start(t, 5, durable...)
			var links []*redistest.Link
			var addrs []string
			for _, s := range servers {
				l := redistest.Proxy(t, s.Addr)
				links, addrs = append(links, l), append(addrs, l.Addr)
			}
			b := ready(t, open(t, "redlock://"+strings.Join(addrs, ","), "", backend.Node{ID: "a", Incarnation: 1}))
			for i := range 3 {
				if err := cycle(t, b, uint64(10*i+1)); err != nil {
					t.Fatalf("with %d nodes %s: %v", i, f.name, err)
				}
				f.fail(servers[i], links[i])
			}
			err := cycle(t, b, 41)
			if !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "of 5 nodes") {
				t.Errorf("with 3 nodes %s: err = %v, want unavailable and how many nodes there are", f.name, err)
			}
			for i := range 3 {
				f.mend(servers[i], links[i])
			}
			eventually(t, "ready again", func() error { return b.Ping(t.Context()) })
			if err := cycle(t, b, 51); err != nil {
				t.Errorf("with all nodes back: %v", err)
			}
		})
	}
}

// A node that has restarted empty has forgotten to whom it said yes, and one that does not
// write each change to its disk at once may have.
func TestRestartedEmpty(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		args    []string
		restart func(*redistest.Server)
	}{
		{"keeps nothing", nil, (*redistest.Server).Restart},
		{"lost its disk", durable, (*redistest.Server).RestartEmpty},
		{"writes late", append(slices.Clone(durable), "--no-appendfsync-on-rewrite", "yes"), func(s *redistest.Server) {
			s.Restart()
			s.Client().Del(t.Context(), "x") // as if it had not been written
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			testForgets(t, start(t, 3, tt.args...), tt.restart)
		})
	}
}

// testForgets: the hold is on 1 and 2 of three when 2 is restarted; 2 and 3 would be a
// majority for somebody else.
func testForgets(t *testing.T, servers []*redistest.Server, restart func(*redistest.Server)) {
	url := urlOf(servers) + "?max_ttl=3s"
	a := ready(t, open(t, url, "", backend.Node{ID: "a", Incarnation: 1}))
	b := ready(t, open(t, url, "", backend.Node{ID: "b", Incarnation: 1}))
	ctx, r := t.Context(), request(1)
	r.TTL = 3 * time.Second
	granted, err := a.Acquire(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	third := servers[2].Client()
	eventually(t, "the third node forgets", func() error { // as if it had not been there
		if third.Del(ctx, "x").Val() == 0 {
			return errors.New("has nothing to forget yet")
		}
		return nil
	})
	restart(servers[1])
	newcomer := open(t, url, "", backend.Node{ID: "c", Incarnation: 1}) // has never seen the node before
	newcomer.Listen(func(backend.Hint) {})
	for _, other := range []*redlock.Backend{b, newcomer} {
		refused(t, other, r, backend.ErrHeld, "")
	}
	eventually(t, "nothing is left of what was refused", func() error {
		if third.Exists(ctx, "x").Val() != 0 {
			return errors.New("it is still on the node that counts")
		}
		return nil
	})
	renew := []backend.Renewal{{Name: "x", Hold: granted.Hold, TTL: r.TTL}}
	for _, s := range servers[1:] {
		eventually(t, "set again", func() error {
			errs, err := a.Renew(ctx, renew)
			if s.Client().HGet(ctx, "x", "o:1").Val() != "1" {
				return errors.Join(errors.New("the hold is missing on a node that lost it"), errors.Join(errs...), err)
			}
			return nil
		})
	}
	if got, err := b.Acquire(ctx, r); !errors.Is(err, backend.ErrHeld) || got.Holder.Hold != granted.Hold {
		t.Errorf("acquire = %+v, %v, want held by the first", got, err)
	}
	servers[0].Kill() // now the other two are needed
	eventually(t, "the node counts again", func() error {
		errs, err := a.Renew(ctx, renew)
		if err != nil || errs[0] != nil {
			t.Fatalf("renew = %v, %v, want renewed all the time", errs, err)
		}
		return b.Ping(ctx)
	})
}

// refused asks until the answer is want, and fails if it ever is a grant. At first it
// may be that a connection is broken.
func refused(t *testing.T, b *redlock.Backend, r backend.Request, want error, words string) {
	t.Helper()
	eventually(t, "acquire", func() error {
		got, err := b.Acquire(t.Context(), r)
		if got.Granted {
			t.Fatalf("granted %+v, want %v", got, want)
		}
		if !errors.Is(err, want) || !strings.Contains(err.Error(), words) {
			return fmt.Errorf("%w, want %w: %s", err, want, words)
		}
		return nil
	})
}

// Nodes that were just started and keep nothing on disk count once the longest lease
// is over, and not before. One more that keeps everything makes the majority.
func TestYoungNodes(t *testing.T) {
	t.Parallel()
	servers := append(start(t, 2), start(t, 1, durable...)...)
	b := open(t, urlOf(servers)+"?max_ttl=2s", "", backend.Node{ID: "a", Incarnation: 1})
	b.Listen(func(backend.Hint) {})
	r := request(1)
	r.TTL = 2 * time.Second
	refused(t, b, r, backend.ErrRefused, "may have forgotten")
	if err := b.Ping(t.Context()); err == nil {
		t.Error("ping: no error while too few nodes count")
	}
	servers[0].Kill() // one young node and the one that keeps everything
	eventually(t, "a young node grows up", func() error {
		_, err := b.Acquire(t.Context(), r)
		return err
	})
}

// A lease that is over is not set again, nor one that was given back.
func TestNotRevived(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	b := ready(t, open(t, urlOf(servers), "", backend.Node{ID: "a", Incarnation: 1}))
	ctx := t.Context()
	granted, err := b.Acquire(ctx, request(1))
	if err != nil {
		t.Fatal(err)
	}
	r := request(2)
	r.Hold, r.Turn = granted.Hold, granted.Hold
	if _, err := b.Release(ctx, r); err != nil {
		t.Fatal(err)
	}
	errs, err := b.Renew(ctx, []backend.Renewal{{Name: "x", Hold: granted.Hold, TTL: ttl}})
	if err != nil || !errors.Is(errs[0], backend.ErrNotHeld) {
		t.Errorf("renew = %v, %v, want not held", errs, err)
	}
	for i, s := range servers {
		if s.Client().Exists(ctx, "x").Val() != 0 {
			t.Errorf("node %d has the lock again", i)
		}
	}
}

// A full Redis refuses new grants, and nothing else.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, durable...)
	b := ready(t, open(t, urlOf(servers), "", backend.Node{ID: "a", Incarnation: 1}))
	ctx := t.Context()
	granted, err := b.Acquire(ctx, request(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		if err := s.Client().ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
			t.Fatal(err)
		}
	}
	other := request(2)
	other.Name = "y"
	if _, err := b.Acquire(ctx, other); !errors.Is(err, backend.ErrRefused) {
		t.Errorf("acquire: %v, want refused", err)
	}
	if errs, err := b.Renew(ctx, []backend.Renewal{{Name: "x", Hold: granted.Hold, TTL: ttl}}); err != nil || errs[0] != nil {
		t.Errorf("renew = %v, %v", errs, err)
	}
	r := request(3)
	r.Hold, r.Turn = granted.Hold, granted.Hold
	if _, err := b.Release(ctx, r); err != nil {
		t.Errorf("release: %v", err)
	}
}

// A Redis that drops keys when it is full may drop a lock.
func TestEviction(t *testing.T) {
	t.Parallel()
	servers := start(t, 3, append(durable, "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")...)
	b := open(t, urlOf(servers), "", backend.Node{ID: "a", Incarnation: 1})
	b.Listen(func(backend.Hint) {})
	eventually(t, "refused", func() error {
		if err := b.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "noeviction") {
			return fmt.Errorf("ping: %w, want an error that says what to set", err)
		}
		return nil
	})
	refused(t, b, request(1), backend.ErrRefused, "allkeys-lru")
	for _, s := range servers[1:] {
		if err := s.Client().ConfigSet(t.Context(), "maxmemory-policy", "noeviction").Err(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "granted", func() error {
		_, err := b.Acquire(t.Context(), request(1))
		return err
	})
}

func TestMaxTTL(t *testing.T) {
	b := open(t, "redlock://a,b,c?max_ttl=10s", "", backend.Node{ID: "a", Incarnation: 1})
	r := request(1) // for longer
	_, acquire := b.Acquire(t.Context(), r)
	_, extend := b.Extend(t.Context(), r)
	_, reclaim := b.Reclaim(t.Context(), r)
	_, renew := b.Renew(t.Context(), []backend.Renewal{{Name: "x", Hold: 1, TTL: ttl}})
	for verb, err := range map[string]error{"acquire": acquire, "extend": extend, "reclaim": reclaim, "renew": renew} {
		if !errors.Is(err, backend.ErrInvalid) || !strings.Contains(err.Error(), "max_ttl") {
			t.Errorf("%s: err = %v, want invalid, and what to set", verb, err)
		}
	}
}
