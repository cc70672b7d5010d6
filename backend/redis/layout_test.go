package redis_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

const owner = backend.Owner("0b0c5a4e-8f83-4c0e-9c5f-6f4f3d1f2a10:1")

func request(name string, seq uint64) backend.Request {
	return backend.Request{Name: name, Seq: seq, Owner: owner, TTL: 3 * time.Second, Turns: 4, Queue: true}
}

// listening opens node id of s and waits until messages reach it.
func listening(t *testing.T, s *redistest.Server, id string) (backend.Backend, <-chan backend.Hint) {
	t.Helper()
	b := open(t, s, "", backend.Node{ID: id, Incarnation: 1})
	hints := make(chan backend.Hint, 100)
	b.Listen(func(h backend.Hint) { hints <- h })
	for began := time.Now(); b.Ping(t.Context()) != nil; time.Sleep(5 * time.Millisecond) {
		if time.Since(began) > 5*time.Second {
			t.Fatalf("not ready: %v", b.Ping(t.Context()))
		}
	}
	return b, hints
}

// hears waits for a hint of the kind.
func hears(t *testing.T, hints <-chan backend.Hint, k backend.HintKind) backend.Hint {
	t.Helper()
	timeout := time.After(2 * time.Second)
	for {
		select {
		case h := <-hints:
			if h.Kind == k {
				return h
			}
		case <-timeout:
			t.Fatalf("no hint %d within 2 s", k)
		}
	}
}

// The lock is Redisson's: a hash owner -> entries with an expiry, a counter, and
// a message at the release.
func TestLayout(t *testing.T) {
	s := redistest.Start(t)
	rdb, ctx := s.Client(), t.Context()
	b, _ := listening(t, s, "n")
	sub := rdb.Subscribe(ctx, "redisson_lock__channel:{a/b}")
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	a, err := b.Acquire(ctx, request("a/b", 1))
	if err != nil || !a.Granted {
		t.Fatalf("acquire = %+v, %v", a, err)
	}
	if got := rdb.HGetAll(ctx, "a/b").Val(); len(got) != 1 || got[string(owner)] != "1" {
		t.Errorf("HGETALL = %v, want %s -> 1", got, owner)
	}
	if ttl := rdb.PTTL(ctx, "a/b").Val(); ttl <= 2*time.Second || ttl > 3*time.Second {
		t.Errorf("PTTL = %v, want 3 s", ttl)
	}
	if got := rdb.Get(ctx, "redisson_lock_token:{a/b}").Val(); got != fmt.Sprint(uint64(a.Block)+3) {
		t.Errorf("counter = %s, want the last reserved fence, %d", got, uint64(a.Block)+3)
	}
	d := request("a/b", 2)
	d.Hold, d.Turn, d.Count = a.Hold, a.Hold, 3
	if err := b.Describe(ctx, d); err != nil {
		t.Fatal(err)
	}
	if got := rdb.HGet(ctx, "a/b", string(owner)).Val(); got != "3" {
		t.Errorf("entries = %s, want 3", got)
	}
	r := request("a/b", 3)
	r.Hold, r.Queue = a.Hold, false
	if _, err := b.Release(ctx, r); err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if m, err := sub.ReceiveMessage(soon); err != nil || m.Payload != "0" {
		t.Errorf("message = %v, %v, want 0", m, err)
	}
	if rdb.Exists(ctx, "a/b").Val() != 0 {
		t.Error("the lock is there after the release")
	}
}

// Everything that a name leaves behind has an expiry, and so has the lock itself.
func TestNoKeyStaysForEver(t *testing.T) {
	s := redistest.Start(t)
	rdb, ctx := s.Client(), t.Context()
	b, _ := listening(t, s, "n")
	c, _ := listening(t, s, "m")
	for i, name := range []string{"a", "{a}", "x{a}y"} {
		held, err := b.Acquire(ctx, request(name, uint64(10*i+1)))
		if err != nil || !held.Granted {
			t.Fatalf("acquire %s = %+v, %v: names must not share a key", name, held, err)
		}
		slot := request(name, uint64(10*i+1))
		slot.Slot = "7"
		for _, r := range []backend.Request{request(name, uint64(10*i+1)), slot} {
			if _, err := c.Acquire(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
		keys := rdb.Keys(ctx, "*").Val()
		for _, k := range keys {
			if rdb.PTTL(ctx, k).Val() < 0 {
				t.Errorf("%s (of %v) has no expiry", k, keys)
			}
		}
		for _, r := range []backend.Request{{Slot: "7"}, {}} {
			r.Name, r.Seq, r.Attempt = name, uint64(10*i+2), uint64(10*i+1)
			if err := c.Cancel(ctx, r); err != nil {
				t.Fatal(err)
			}
		}
		r := request(name, uint64(10*i+3))
		r.Hold, r.Queue = held.Hold, false
		if _, err := b.Release(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range rdb.Keys(ctx, "*").Val() {
		if ok := strings.HasPrefix(k, "redisson_lock_token:") || strings.HasSuffix(k, ":f") || strings.Contains(k, ":r:"); !ok {
			t.Errorf("%s is left of a free name", k)
		}
		if rdb.PTTL(ctx, k).Val() < 0 {
			t.Errorf("%s has no expiry", k)
		}
	}
}

// A Redisson program that holds the lock keeps us out, and its release wakes us.
func TestRedissonHolder(t *testing.T) {
	s := redistest.Start(t)
	rdb, ctx := s.Client(), t.Context()
	b, hints := listening(t, s, "n")
	const java = "7c8a1f3e-1111-4222-8333-444455556666:52"
	rdb.HSet(ctx, "x", java, 1)
	rdb.PExpire(ctx, "x", 30*time.Second)
	try := request("x", 1)
	try.Queue = false
	a, err := b.Acquire(ctx, try)
	if !errors.Is(err, backend.ErrHeld) || !a.Holder.Foreign || a.Holder.Owner != java || a.Wait < 25*time.Second {
		t.Errorf("try = %+v, %v, want held by the Java program", a, err)
	}
	if a, err := b.Acquire(ctx, request("x", 2)); err != nil || !a.Queued {
		t.Fatalf("acquire = %+v, %v, want queued", a, err)
	}
	hears(t, hints, backend.HintFree) // once the subscription stands: look again
	if a, err := b.Acquire(ctx, request("x", 2)); err != nil || !a.Queued {
		t.Fatalf("acquire = %+v, %v, want queued", a, err)
	}
	rdb.Del(ctx, "x")
	rdb.Publish(ctx, "redisson_lock__channel:{x}", "0")
	began := time.Now()
	hears(t, hints, backend.HintFree)
	if d := time.Since(began); d > 500*time.Millisecond {
		t.Errorf("woken after %v", d)
	}
	if a, err := b.Acquire(ctx, request("x", 2)); err != nil || !a.Granted {
		t.Errorf("acquire = %+v, %v, want granted", a, err)
	}
	// And the other way round: Redisson's own test for a free lock fails.
	if rdb.Exists(ctx, "x").Val() != 1 || rdb.HExists(ctx, "x", java).Val() {
		t.Error("Redisson would take the lock")
	}
}

// What a Redisson program takes after somebody deleted our lock is not ours.
func TestLockTakenByForce(t *testing.T) {
	s := redistest.Start(t)
	rdb, ctx := s.Client(), t.Context()
	b, _ := listening(t, s, "n")
	a, err := b.Acquire(ctx, request("x", 1))
	if err != nil {
		t.Fatal(err)
	}
	rdb.Del(ctx, "x") // Redisson's forceUnlock
	rdb.HSet(ctx, "x", "java:1", 1)
	rdb.PExpire(ctx, "x", 30*time.Second)
	errs, err := b.Renew(ctx, []backend.Renewal{{Name: "x", Hold: a.Hold, TTL: time.Minute}})
	if err != nil || !errors.Is(errs[0], backend.ErrNotHeld) {
		t.Errorf("renew = %v, %v, want not held", errs, err)
	}
	r := request("x", 2)
	r.Hold, r.Queue = a.Hold, false
	if _, err := b.Release(ctx, r); err != nil {
		t.Errorf("release: %v", err)
	}
	if rdb.HGet(ctx, "x", "java:1").Val() != "1" || rdb.PTTL(ctx, "x").Val() > 30*time.Second {
		t.Error("the Java program's lock was touched")
	}
	if st, err := b.Inspect(ctx, "x"); err != nil || !st.Foreign || st.Owner != "java:1" {
		t.Errorf("status = %+v, %v, want held by the Java program", st, err)
	}
}

// A string key, as SET NX PX makes it, counts as held until it expires.
func TestStringKeyIsHeld(t *testing.T) {
	s := redistest.Start(t)
	rdb, ctx := s.Client(), t.Context()
	b, _ := listening(t, s, "n")
	rdb.SetNX(ctx, "x", "secret", time.Second)
	a, err := b.Acquire(ctx, request("x", 1))
	if err != nil || !a.Queued || a.Wait <= 0 || a.Wait > time.Second || !a.Holder.Foreign {
		t.Errorf("acquire = %+v, %v, want queued behind another", a, err)
	}
	if st, err := b.Inspect(ctx, "x"); err != nil || !st.Held || !st.Foreign || strings.Contains(fmt.Sprint(st), "secret") {
		t.Errorf("status = %+v, %v, want held, without the value, which is a secret", st, err)
	}
	time.Sleep(a.Wait + 20*time.Millisecond)
	if a, err := b.Acquire(ctx, request("x", 1)); err != nil || !a.Granted {
		t.Errorf("acquire = %+v, %v, want granted", a, err)
	}
}

// A full Redis refuses new grants, but never a renewal or a release.
func TestOutOfMemory(t *testing.T) {
	s := redistest.Start(t)
	rdb, ctx := s.Client(), t.Context()
	b, _ := listening(t, s, "n")
	a, err := b.Acquire(ctx, request("x", 1))
	if err != nil {
		t.Fatal(err)
	}
	rdb.ConfigSet(ctx, "maxmemory", "1")
	if _, err := b.Acquire(ctx, request("y", 2)); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "maxmemory") {
		t.Errorf("acquire = %v, want refused, with what to do", err)
	}
	errs, err := b.Renew(ctx, []backend.Renewal{{Name: "x", Hold: a.Hold, TTL: time.Minute}})
	if err != nil || errs[0] != nil {
		t.Errorf("renew = %v, %v", errs, err)
	}
	r := request("x", 3)
	r.Hold, r.Queue = a.Hold, false
	if _, err := b.Release(ctx, r); err != nil {
		t.Errorf("release: %v", err)
	}
	if err := b.Cancel(ctx, request("x", 4)); err != nil {
		t.Errorf("cancel: %v", err)
	}
	if rdb.Exists(ctx, "x").Val() != 0 {
		t.Error("still locked")
	}
}

// A fence is a 16 digit number that Lua must not round.
func TestFencesAreExact(t *testing.T) {
	s := redistest.Start(t)
	rdb, ctx := s.Client(), t.Context()
	b, _ := listening(t, s, "n")
	const top = 1<<53 - 1000
	rdb.Set(ctx, "redisson_lock_token:{x}", top, 0)
	for i := range 3 {
		r := request("x", uint64(2*i+1))
		r.Turns = 1
		a, err := b.Acquire(ctx, r)
		if err != nil || a.Hold != backend.Fence(top+i+1) {
			t.Fatalf("fence = %d, %v, want %d", a.Hold, err, top+i+1)
		}
		r.Seq, r.Hold, r.Queue = uint64(2*i+2), a.Hold, false
		if _, err := b.Release(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
}

// A counter that is no number below 2^53 is told, with the remedy, and grants nothing: two
// grants would have the same fence. What is held stays held, and can be released; when the
// key is deleted, all is well again.
func TestCounterThatIsNone(t *testing.T) {
	s := redistest.Start(t)
	rdb, ctx := s.Client(), t.Context()
	b, _ := listening(t, s, "n")
	const counter = "redisson_lock_token:{x}"
	seq := uint64(0)
	next := func(hold backend.Fence) backend.Request {
		seq++
		r := request("x", seq)
		r.Hold, r.Block, r.Queue = hold, hold, false
		return r
	}
	for what, spoil := range map[string]func(){
		"2^63-1":    func() { rdb.Set(ctx, counter, "9223372036854775807", 0) },
		"2^53":      func() { rdb.Set(ctx, counter, "9007199254740992", 0) },
		"2^53-1":    func() { rdb.Set(ctx, counter, "9007199254740991", 0) },
		"a word":    func() { rdb.Set(ctx, counter, "nonsense", 0) },
		"below 0":   func() { rdb.Set(ctx, counter, "-9223372036854775808", 0) },
		"a list":    func() { rdb.Del(ctx, counter); rdb.RPush(ctx, counter, "1") },
		"exponents": func() { rdb.Set(ctx, counter, "1e300", 0) },
	} {
		held, err := b.Acquire(ctx, next(0))
		if err != nil {
			t.Fatal(err)
		}
		spoil()
		if a, err := b.Extend(ctx, next(held.Hold)); !errors.Is(err, backend.ErrRefused) {
			t.Errorf("%s: a block = %+v, %v, want a refusal", what, a, err)
		}
		if errs, err := b.Renew(ctx, []backend.Renewal{{Name: "x", Hold: held.Hold, TTL: 3 * time.Second}}); err != nil || errs[0] != nil {
			t.Errorf("%s: renewal of what is held: %v, %v", what, errs, err)
		}
		if a, err := b.Release(ctx, next(held.Hold)); err != nil || a.Granted {
			t.Errorf("%s: release = %+v, %v", what, a, err)
		}
		for _, mode := range []backend.Mode{backend.Exclusive, backend.Shared, 2} {
			r := next(0)
			r.Mode, r.Queue = mode, true
			if mode != backend.Exclusive {
				r.Slot, r.Turns = mode.String(), 1
			}
			a, err := b.Acquire(ctx, r)
			if !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), "the key "+counter) || !strings.Contains(err.Error(), "delete") {
				t.Errorf("%s, %v: %+v, %v, want a refusal that says what to do", what, mode, a, err)
			}
		}
		rdb.Del(ctx, counter)
		a, err := b.Acquire(ctx, next(0))
		if err != nil || a.Hold > backend.MaxFence/2 {
			t.Fatalf("%s: after the remedy: %+v, %v", what, a, err)
		}
		if _, err := b.Release(ctx, next(a.Hold)); err != nil {
			t.Fatal(err)
		}
	}
}

// A counter that is lost, as by a failover, takes no fence back.
func TestFencesSurviveTheCounter(t *testing.T) {
	s := redistest.Start(t)
	rdb, ctx := s.Client(), t.Context()
	b, _ := listening(t, s, "n")
	var last backend.Fence
	for i := range uint64(5) {
		a, err := b.Acquire(ctx, request("x", i+1))
		if err != nil || a.Hold <= last+3 {
			t.Fatalf("fence %d after a block from %d, %v", a.Hold, last, err)
		}
		last = a.Hold
		rdb.FlushAll(ctx)
	}
}

// Whatever arrives on a node's channel, nothing else than a hint comes of it.
func TestForeignMessages(t *testing.T) {
	s := redistest.Start(t)
	rdb, ctx := s.Client(), t.Context()
	_, hints := listening(t, s, "n")
	for len(hints) > 0 {
		<-hints
	}
	for _, m := range []string{"", " ", "g", "g 1", "g x - y", "g -1 - y", "g 1 - y z", "o", "o -", "w x - y", "z 1 - y", "\x00\xff", "g 99999999999999999999 - x", strings.Repeat("g ", 5000)} {
		rdb.Publish(ctx, "lockgw:node:n:1", m)
	}
	rdb.Publish(ctx, "lockgw:node:n:1", "g 5 - ok")
	if h := <-hints; h.Name != "ok" || h.Fence != 5 || h.Kind != backend.HintGranted {
		t.Errorf("hint = %+v, want the one that is well formed", h)
	}
}

// Scripts that Redis forgets are sent again.
func TestScriptFlush(t *testing.T) {
	s := redistest.Start(t)
	rdb := s.Client()
	b, _ := listening(t, s, "n")
	for i := range uint64(50) {
		if i%5 == 0 {
			rdb.ScriptFlush(t.Context())
		}
		a, err := b.Acquire(t.Context(), request("x", 2*i+1))
		if err != nil || !a.Granted {
			t.Fatalf("acquire = %+v, %v", a, err)
		}
		r := request("x", 2*i+2)
		r.Hold, r.Queue = a.Hold, false
		if _, err := b.Release(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBadConfiguration(t *testing.T) {
	for _, prefix := range []string{"lockgw:", "lockgw:x", "a{b", "a}", "a b", "a\n"} {
		if _, err := openWith(context.Background(), "redis://127.0.0.1:1", prefix); err == nil || !strings.Contains(err.Error(), "key_prefix") {
			t.Errorf("prefix %q: err = %v, want key_prefix named", prefix, err)
		}
	}
	for _, url := range []string{"", "http://x", "redis://", "://"} {
		if _, err := openWith(context.Background(), url, ""); url != "redis://" && err == nil {
			t.Errorf("url %q: no error", url)
		}
	}
}

// List finds held names page by page.
func TestListPages(t *testing.T) {
	s := redistest.Start(t)
	b, _ := listening(t, s, "n")
	const n = 250
	for i := range n {
		if a, err := b.Acquire(t.Context(), request(fmt.Sprintf("job/%03d", i), uint64(i+1))); err != nil || !a.Granted {
			t.Fatalf("acquire = %+v, %v", a, err)
		}
	}
	var names []string
	for next, more := "", true; more; more = next != "" {
		page, at, err := b.List(t.Context(), "job/", next, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range page {
			names = append(names, st.Name)
		}
		next = at
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) != n {
		t.Errorf("%d names, want %d", len(names), n)
	}
	if _, _, err := b.List(t.Context(), "", "abc", 10); !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("bad cursor: err = %v, want invalid", err)
	}
}
