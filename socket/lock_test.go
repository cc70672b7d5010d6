package socket

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/tabletest"
	"github.com/lockgw/lockgw/session"
	goclient "github.com/lockgw/lockgw/socket/client"
	"github.com/lockgw/lockgw/socket/resp"
)

func TestLockUnlock(t *testing.T) {
	g := start(t)
	a, b := g.dial(), g.dial()
	first := a.lock("nightly")
	b.want(nil, "LOCK", "nightly")
	if again := a.lock("nightly"); again != first {
		t.Errorf("fence of a re-entry = %d, want %d", again, first)
	}
	a.want(int64(1), "UNLOCK", "nightly")
	b.want(nil, "LOCK", "nightly")
	a.want(int64(0), "UNLOCK", "nightly")
	if second := b.lock("nightly"); second <= first {
		t.Errorf("fence of the next grant = %d, want more than %d", second, first)
	}
	a.wantError("NOTHELD lock \"nightly\": ", "UNLOCK", "nightly")
	b.lock("nightly")
	b.want(int64(0), "unlock", "nightly", "all")
	a.lock("nightly")
}

func TestThreads(t *testing.T) {
	w := start(t).dial()
	w.lock("a", "THREAD", "7")
	w.want(nil, "LOCK", "a")
	w.wantError("NOTHELD", "UNLOCK", "a")
	w.wantError("NOTHELD", "RENEW", "a", "THREAD", "8")
	w.want(int64(0), "UNLOCK", "a", "THREAD", "7")
	w.lock("a", "thread", "9223372036854775807")
}

func TestWait(t *testing.T) {
	g := start(t)
	a, b := g.dial(), g.dial()
	fence := a.lock("a")
	b.send("LOCK", "a", "WAIT", "30")
	g.waiters(1)
	b.silent()
	a.want(int64(0), "UNLOCK", "a")
	if got, _ := b.read().(int64); got <= fence {
		t.Errorf("LOCK after a wait = %d, want more than %d", got, fence)
	}
}

// P30: null, and nothing is held.
func TestWaitIsOver(t *testing.T) {
	g := start(t)
	a, b := g.dial(), g.dial()
	a.lock("a")
	began := time.Now()
	b.want(nil, "LOCK", "a", "WAIT", "0.05")
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Errorf("gave up after %v, want 50ms", took)
	}
	g.waiters(0)
	a.want(int64(0), "UNLOCK", "a")
	b.wantError("NOTHELD", "UNLOCK", "a")
	a.lock("a")
}

func TestFull(t *testing.T) {
	w := start(t).dial3()
	before := session.Boottime()
	got, ok := w.do("LOCK", "a/ä", "FULL", "TTL", "10", "MAXHOLD", "60", "NOTE", "two words").(map[string]any)
	if !ok {
		t.Fatal("LOCK FULL is no map")
	}
	for key, want := range map[string]any{
		"name": "a/ä", "state": "held", "thread": int64(1), "count": int64(1), "auto_renew": true, "note": "two words",
	} {
		if got[key] != want {
			t.Errorf("%s = %v, want %v", key, got[key], want)
		}
	}
	if owner, _ := got["owner"].(string); !strings.HasSuffix(owner, ":1") || len(owner) != 38 {
		t.Errorf("owner = %q, want a UUID and :1", owner)
	}
	if fence, _ := got["fence"].(int64); fence == 0 {
		t.Errorf("fence = %v, want one", got["fence"])
	}
	if ms, _ := got["ttl_ms"].(int64); ms < 9000 || ms > 9900 {
		t.Errorf("ttl_ms = %v, want 10 s without the margin of 1 %%", got["ttl_ms"])
	}
	until := time.Duration(got["valid_until_boottime_ns"].(int64)) - before
	if until < 9*time.Second || until > 10*time.Second {
		t.Errorf("valid_until_boottime_ns is %v from now, want 10 s without the margin", until)
	}
	for key, want := range map[string]time.Duration{"expires_at": 10 * time.Second, "max_hold_at": time.Minute} {
		at, err := time.Parse(time.RFC3339Nano, got[key].(string))
		if d := time.Until(at) - want; err != nil || d > 0 || d < -time.Second {
			t.Errorf("%s = %v, err %v, want about %v from now", key, got[key], err, want)
		}
	}
	again := w.do("LOCK", "a/ä", "FULL").(map[string]any)
	if again["count"] != int64(2) || again["fence"] != got["fence"] {
		t.Errorf("re-entry = %v, want count 2 and fence %v", again, got["fence"])
	}
	if token, has := again["token"]; !has || token != nil {
		t.Errorf("token = %v, %v, want null: it was told before, and is not kept", token, has)
	}
}

// The token of a session that is opened for a LOCK with FULL is told with the grant, at once
// or after a wait, and joins that session.
func TestFullHasTheToken(t *testing.T) {
	g := start(t)
	joins := func(got any, first *wire) {
		t.Helper()
		m, _ := got.(map[string]any)
		token, _ := m["token"].(string)
		if token == "" {
			t.Fatalf("LOCK FULL = %v, want a token", got)
		}
		second := g.dial()
		second.want("OK", "AUTH", token)
		second.want(int64(0), "UNLOCK", "a")
		first.wantError("NOTHELD", "UNLOCK", "a")
	}
	w := g.dial3()
	joins(w.do("LOCK", "a", "FULL"), w)
	holder, waiter := g.dial(), g.dial3()
	holder.lock("a")
	waiter.send("LOCK", "a", "WAIT", "60", "FULL")
	g.waiters(1)
	holder.want(int64(0), "UNLOCK", "a")
	joins(waiter.read(), waiter)
}

func TestFullRESP2(t *testing.T) {
	w := start(t).dial()
	got, ok := w.do("LOCK", "a", "FULL").([]any)
	if !ok || len(got) != 28 || got[0] != "name" || got[1] != "a" {
		t.Errorf("LOCK FULL = %v, want a flat array of 14 pairs", got)
	}
}

func TestRenew(t *testing.T) {
	w := start(t).dial()
	w.lock("a", "TTL", "5")
	if ms, _ := w.do("RENEW", "a").(int64); ms < 4500 || ms > 4950 {
		t.Errorf("RENEW = %d ms, want 5 s without the margin", ms)
	}
	if ms, _ := w.do("RENEW", "a", "TTL", "60").(int64); ms < 59_000 || ms > 59_400 {
		t.Errorf("RENEW TTL 60 = %d ms, want 60 s without the margin", ms)
	}
	w.wantError("INVALID ttl: ", "RENEW", "a", "TTL", "0")
	w.wantError("INVALID ttl: ", "RENEW", "a", "TTL", "0.1")
	w.wantError("INVALID option: ", "RENEW", "a", "WAIT", "1")
}

// P27: with an id a repeat gets the first answer, and another request none.
func TestRequestID(t *testing.T) {
	w := start(t).dial()
	fence := w.lock("a", "REQ", "r1")
	w.want(fence, "LOCK", "a", "REQ", "r1")
	w.wantError("CONFLICT ", "LOCK", "b", "REQ", "r1")
	w.want(int64(0), "UNLOCK", "a", "REQ", "r2")
	w.want(int64(0), "UNLOCK", "a", "REQ", "r2")
	w.wantError("NOTHELD ", "UNLOCK", "a", "REQ", "r3")
}

// P28: a hold that is over is lost to everybody who asks for it.
func TestLost(t *testing.T) {
	g := start(t)
	w := g.dial()
	w.lock("a", "MAXHOLD", "0.03")
	eventually(t, "the lock is free", func() bool { return g.m.Stats().Holds == 0 })
	w.wantError(`LOST lock "a": `, "UNLOCK", "a")
	w.wantError(`LOST lock "a": `, "RENEW", "a")
	w.lock("a")
}

func TestInfo(t *testing.T) {
	g := start(t)
	a, b := g.dial3(), g.dial3()
	free := a.do("LOCKINFO", "a").(map[string]any)
	if free["state"] != "free" || free["holder"] != nil || free["mode"] != nil || free["name"] != "a" {
		t.Errorf("LOCKINFO of a free lock = %v", free)
	}
	a.want("OK", "CLIENT", "SETNAME", "backup")
	fence := a.lock("a", "NOTE", "why")
	b.send("LOCK", "a", "WAIT", "30", "NOTE", "later")
	g.waiters(1)
	got := g.dial3().do("LOCKINFO", "a").(map[string]any)
	for key, want := range map[string]any{"state": "held", "mode": "exclusive", "fence": fence, "waiters": int64(1), "ahead": int64(0)} {
		if got[key] != want {
			t.Errorf("%s = %v, want %v", key, got[key], want)
		}
	}
	holder := got["holder"].(map[string]any)
	for key, want := range map[string]any{"node": "host-a", "note": "why", "session": "backup", "command": "socket.test"} {
		if holder[key] != want {
			t.Errorf("holder's %s = %v, want %v", key, holder[key], want)
		}
	}
	if pid, _ := holder["pid"].(int64); pid == 0 {
		t.Errorf("holder's pid = %v, want one", holder["pid"])
	}
	if queue := got["queue"].([]any); len(queue) != 1 || queue[0].(map[string]any)["note"] != "later" {
		t.Errorf("queue = %v, want the one who waits", got["queue"])
	}
	if ms, _ := got["ttl_ms"].(int64); ms < 25_000 || ms > 30_000 {
		t.Errorf("ttl_ms = %v, want about 30 s", got["ttl_ms"])
	}
}

func TestLocks(t *testing.T) {
	g := start(t)
	w := g.dial3()
	w.want([]any{}, "LOCKS")
	for i := range 150 {
		w.lock(fmt.Sprintf("shop/%d", i))
	}
	w.lock("other")
	for _, test := range []struct {
		args []string
		want int
	}{
		{nil, 100}, {[]string{"COUNT", "1000"}, 151}, {[]string{"PREFIX", "shop/", "COUNT", "1000"}, 150},
		{[]string{"COUNT", "7", "PREFIX", "shop/"}, 7}, {[]string{"PREFIX", "nothing"}, 0},
	} {
		all, _ := w.do(append([]string{"LOCKS"}, test.args...)...).([]any)
		if len(all) != test.want {
			t.Errorf("LOCKS %q = %d locks, want %d", test.args, len(all), test.want)
		}
		for _, one := range all {
			if st := one.(map[string]any); st["state"] != "held" || st["holder"] == nil {
				t.Errorf("LOCKS %q has %v, want it held", test.args, st)
			}
		}
	}
}

// pager is a store that lists little at a time, and more than it was asked for.
type pager struct{ ledger.Table }

func (p pager) List(ctx context.Context, prefix, cursor string, _ int) ([]ledger.Named, string, error) {
	const page = 4
	all, _, err := p.Table.List(ctx, prefix, "", 1000)
	if err != nil {
		return nil, "", err
	}
	slices.SortFunc(all, func(a, b ledger.Named) int { return strings.Compare(a.Name, b.Name) })
	from, _ := strconv.Atoi(cursor)
	if from+page >= len(all) {
		return all[from:], "", nil
	}
	return all[from : from+page], strconv.Itoa(from + page), nil
}

func TestLocksPages(t *testing.T) {
	g := start(t, func(o *setup) { o.wrap = func(t ledger.Table) ledger.Table { return pager{t} } })
	w := g.dial3()
	for i := range 11 {
		w.lock(fmt.Sprint("lock", i))
	}
	for count, want := range map[string]int{"1": 1, "4": 4, "6": 6, "11": 11, "100": 11} {
		all, _ := w.do("LOCKS", "COUNT", count).([]any)
		names := map[any]bool{}
		for _, one := range all {
			names[one.(map[string]any)["name"]] = true
		}
		if len(all) != want || len(names) != want {
			t.Errorf("LOCKS COUNT %s = %d locks, %d of them different, want %d", count, len(all), len(names), want)
		}
	}
}

// partly is a store that serves in part.
type partly struct{ ledger.Table }

func (p partly) List(ctx context.Context, prefix, cursor string, limit int) ([]ledger.Named, string, error) {
	all, next, err := p.Table.List(ctx, prefix, cursor, limit)
	return all, next, errors.Join(err, fmt.Errorf("%w: 1 of 3 masters is down", backend.ErrPartly))
}

// Nobody takes a part of the names for all.
func TestLocksIncomplete(t *testing.T) {
	g := start(t, func(o *setup) { o.wrap = func(t ledger.Table) ledger.Table { return partly{t} } })
	w := g.dial3()
	w.lock("a")
	got, _ := w.do("LOCKS").([]any)
	if len(got) != 2 || !reflect.DeepEqual(got[1], resp.Error("UNAVAILABLE the store serves in part: 1 of 3 masters is down")) {
		t.Errorf("LOCKS = %v, want one lock and an error in the place of others", got)
	}
	all, err := g.client().Locks(t.Context(), goclient.LockQuery{})
	if err != nil || len(all.Items) != 1 || !all.AtLeast || all.Incomplete != "the store serves in part: 1 of 3 masters is down" {
		t.Errorf("Locks = %+v, %v, want one and why others are missing", all, err)
	}
}

// Many connections, one lock: never two at once, and each fence is larger.
func TestContention(t *testing.T) {
	g := start(t)
	const callers, rounds = 50, 10
	var mu sync.Mutex
	var inside int
	var last int64
	var wg sync.WaitGroup
	for range callers {
		w := g.dial()
		wg.Go(func() {
			for range rounds {
				fence, _ := w.do("LOCK", "a", "WAIT", "60").(int64)
				mu.Lock()
				if inside++; inside != 1 || fence <= last {
					t.Errorf("%d hold the lock, fence %d after %d", inside, fence, last)
				}
				last = fence
				inside--
				mu.Unlock()
				w.want(int64(0), "UNLOCK", "a")
			}
		})
	}
	wg.Wait()
}

// withDeafStore has a store that does not answer while mute: acquire, release or renew.
func withDeafStore(mute func(verb string) bool) func(*setup) {
	verbOf := func(a tabletest.Asked) string {
		switch {
		case a.New():
			return "acquire"
		case a.GivesBack():
			return "release"
		default:
			return a.Verb
		}
	}
	wait := func(ctx context.Context, a tabletest.Asked) error {
		if !mute(verbOf(a)) {
			return nil
		}
		<-ctx.Done()
		return fmt.Errorf("%w: no answer", backend.ErrUnavailable)
	}
	return func(o *setup) {
		o.session.Timeout = 300 * time.Millisecond
		o.wrap = func(t ledger.Table) ledger.Table { return &tabletest.Checked{Table: t, Before: wait} }
	}
}

// P37: no store, no grant, and the error says so.
func TestNoStore(t *testing.T) {
	var mu sync.Mutex
	muted := map[string]bool{"acquire": true}
	g := start(t, withDeafStore(func(verb string) bool { mu.Lock(); defer mu.Unlock(); return muted[verb] }))
	set := func(verb string, on bool) { mu.Lock(); defer mu.Unlock(); muted[verb] = on }
	w := g.dial()
	w.wantError(`UNAVAILABLE lock "a": `, "LOCK", "a")
	w.wantError(`UNAVAILABLE lock "a": `, "LOCK", "a", "WAIT", "0.1")
	set("acquire", false)
	eventually(t, "the lock can be had again", func() bool { n, _ := w.do("LOCK", "a").(int64); return n != 0 })
	set("renew", true)
	w.wantError(`UNAVAILABLE lock "a": `, "RENEW", "a")
	set("renew", false)
	set("release", true)
	w.wantError(`UNAVAILABLE lock "a": renewing has stopped, but the store has not confirmed the release; the lock is free in `,
		"UNLOCK", "a")
	set("release", false)
}

func TestDraining(t *testing.T) {
	g := start(t)
	a, b := g.dial(), g.dial()
	a.lock("a")
	b.send("LOCK", "a", "WAIT", "30")
	g.waiters(1)
	g.m.Drain()
	if got := fmt.Sprint(b.read()); !strings.HasPrefix(got, `DRAINING lock "a": `) {
		t.Errorf("a wait while draining = %v, want DRAINING", got)
	}
	b.wantError("DRAINING ", "LOCK", "b")
	g.dial().wantError("DRAINING ", "LOCK", "b")
	a.want(int64(0), "UNLOCK", "a")
}
