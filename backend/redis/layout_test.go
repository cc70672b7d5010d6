package redis_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/redis"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

// Names that look alike share no key, and each key that is there while they are held has
// an expiry, but for that of the guard.
func TestNamesShareNoKey(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb, ctx := s.Client(), t.Context()
	a, b := openNode(t, s.URL(), "a", redis.GuardQuarantine), openNode(t, s.URL(), "b", redis.GuardQuarantine)
	for _, name := range []string{"a", "{a}", "x{a}y"} {
		a.takes(name)
		b.does(name, ledger.Op{Want: 1})
	}
	for _, k := range rdb.Keys(ctx, "*").Val() {
		if rdb.PTTL(ctx, k).Val() < 0 && !strings.HasPrefix(k, "lockgw:guard:") {
			t.Errorf("%s has no expiry", k)
		}
	}
	for _, name := range []string{"a", "{a}", "x{a}y"} {
		if r := a.look(name); r.Record.Firm("a") == nil || r.Record.Entry("b") == nil {
			t.Errorf("%s: %+v", name, r.Record)
		}
	}
}

// Everything that Redis had is lost: no fence is taken back.
func TestFencesSurviveAFlush(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a := openNode(t, s.URL(), "a", redis.GuardNone)
	var last backend.Fence
	for range 5 {
		r := a.does("x", ledger.Op{Want: 1, Turns: 4})
		if h := r.Record.Firm("a"); h == nil || h.ID <= last+3 {
			t.Fatalf("%+v after a block from %d", r.Record, last)
		}
		last = r.Record.Firm("a").ID
		s.Client().FlushAll(t.Context())
	}
}

// Whatever arrives on a node's channel, nothing else than a message comes of it.
func TestMessagesOfOthers(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb, ctx := s.Client(), t.Context()
	a, b := openNode(t, s.URL(), "a", redis.GuardNone), openNode(t, s.URL(), "b", redis.GuardNone)
	a.drain()
	for _, m := range []string{"", " ", "g", "1", "1 ", "9 x", "-1 x", "o", "x y z", "\x00\xff", "99999999999999999999 x", strings.Repeat("g ", 5000)} {
		rdb.Publish(ctx, "lockgw:node:a", m)
	}
	if err := b.Send(ctx, []ledger.Addressed{{Name: "ok", Message: ledger.Message{Node: "a", Kind: ledger.Tell, Text: "?"}}}); err != nil {
		t.Fatal(err)
	}
	if m := <-a.told; m.Name != "ok" || m.Kind != ledger.Tell || m.Text != "?" {
		t.Errorf("told %+v, want the one that is well formed alone", m)
	}
}

// Scripts that Redis forgets are sent again.
func TestScriptFlush(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for _, guard := range []string{redis.GuardNone, redis.GuardQuarantine} {
		a := openNode(t, s.URL(), "a", guard)
		for i := range 50 {
			if i%5 == 0 {
				s.Client().ScriptFlush(t.Context())
			}
			a.takes("x")
			a.leaves("x")
		}
		_ = a.Close()
	}
}

func TestBadConfiguration(t *testing.T) {
	for _, prefix := range []string{"lockgw:", "lockgw:x", "a{b", "a}", "a b", "a\n"} {
		if _, err := redis.OpenTable(redis.Config{URL: "redis://127.0.0.1:1", KeyPrefix: prefix}); err == nil || !strings.Contains(err.Error(), "key_prefix") {
			t.Errorf("prefix %q: err = %v, want key_prefix named", prefix, err)
		}
	}
	for _, url := range []string{"", "http://x", "://"} {
		if _, err := redis.OpenTable(redis.Config{URL: url}); err == nil {
			t.Errorf("url %q: no error", url)
		}
	}
}

// List finds held names page by page.
func TestListPages(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	a := openNode(t, s.URL(), "a", redis.GuardNone)
	const n = 250
	for i := range n {
		a.takes(fmt.Sprintf("job/%03d", i))
	}
	var names []string
	for next, more := "", true; more; more = next != "" {
		page, at, err := a.List(t.Context(), "job/", next, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range page {
			names = append(names, one.Name)
		}
		next = at
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) != n {
		t.Errorf("%d names, want %d", len(names), n)
	}
	for _, cursor := range []string{"abc", "@", "1x@y"} {
		if _, _, err := a.List(t.Context(), "", cursor, 10); err == nil {
			t.Errorf("list from %q: no error", cursor)
		}
	}
}

// What is no record, of another program or of a later lockgw, hides no other name.
func TestListLeavesOutWhatIsNoRecord(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	a := openNode(t, s.URL(), "a", redis.GuardNone)
	a.takes("ours")
	text := rdb.Get(t.Context(), "lockgw:{ours}").Val()
	for name, leave := range map[string]func(key string){
		"a-text":  func(key string) { rdb.Set(t.Context(), key, "hello", 0) },
		"a-list":  func(key string) { rdb.RPush(t.Context(), key, "hello") },
		"a-later": func(key string) { rdb.Set(t.Context(), key, strings.Replace(text, `"v":1`, `"v":9`, 1), 0) },
	} {
		key := "lockgw:{" + name + "}"
		leave(key)
		found, _, err := a.List(t.Context(), "", "", 100)
		if !errors.Is(err, backend.ErrPartly) || !strings.Contains(err.Error(), key) || len(found) != 1 || found[0].Name != "ours" {
			t.Errorf("list beside %s: %+v, %v", name, found, err)
		}
		rdb.Del(t.Context(), key)
	}
	rdb.Set(t.Context(), "lockgw:{a-text}", "hello", 0)
	if found, _, err := a.List(t.Context(), "ours", "", 100); err != nil || len(found) != 1 {
		t.Errorf("list of what begins otherwise: %+v, %v", found, err)
	}
}
