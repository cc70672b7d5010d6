package zookeeper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/backend/quorum"
	"github.com/lockgw/lockgw/backend/zookeeper/zktest"
)

// Every name is one part of a path, and each its own.
func TestEscape(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"nightly": "nightly", ".": "%2E", "..": "%2E.", "a/b": "a%2Fb", "a b%": "a%20b%25", "ü": "%C3%BC", "{t}": "%7Bt%7D", "a.b:c_d-e": "a.b:c_d-e", "\xff": "%FF", "+~": "%2B%7E",
	} {
		if got := escape(name); got != want {
			t.Errorf("%q is written as %q, want %q", name, got, want)
		}
		if back, ok := unescape(want); !ok || back != name {
			t.Errorf("%q is read as %q, %v", want, back, ok)
		}
	}
	for _, bad := range []string{"%", "%2", "%zz", "a%41", "%2f", ".", "a b", "%+1"} {
		if name, ok := unescape(bad); ok {
			t.Errorf("%q is read as %q", bad, name)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	r := row{place: place{born: 0x1700000001, version: 5}, Row: quorum.Row{Ends: quorum.Ends{{ID: 7, TTL: time.Second, Under: "ABC7"}}}}
	if v := r.version(); !regexp.MustCompile(`^1700000001\.5#\w+@7=ABC7:1000$`).MatchString(string(v)) {
		t.Errorf("version %s", v)
	}
	if at, es, err := parseVersion(r.version()); err != nil || at != r.place || es.String() != r.Ends.String() {
		t.Errorf("read as %v, %v, %v", at, es, err)
	}
	for _, bad := range []string{"5#0@", "1.x#0@", "0.1#0@", "1.2#0", "1.2#0@x", "1.99999999999#0@", "1.2@"} {
		if _, _, err := parseVersion(ledger.Version(bad)); !errors.Is(err, backend.ErrInvalid) {
			t.Errorf("%q is read as a version: %v", bad, err)
		}
	}
}

// A record that nobody uses goes; no fence of the next one is below it, and what was seen
// before is not taken for it, although its znode has the same version.
func TestSweep(t *testing.T) {
	t.Parallel()
	s := zktest.Shared(t)
	url := zktest.URL(chroot("sweep"), s)
	a, b := listen(t, url, "a"), listen(t, url, "b")
	ahead := backend.Fence(1 << 52) // of every clock
	next, effects := ledger.Step(ledger.Record{}, ledger.Op{Node: "a", Want: 1, Turns: 1, TTL: time.Second}, 0)
	if r, err := a.Swap(t.Context(), ledger.Swap{Name: "n", Record: next, Effects: effects, Floor: ahead}); err != nil || !r.Written {
		t.Fatal(r, err)
	}
	b.TakeFor("used", time.Minute)
	c := listen(t, brief(url), "c")
	c.Take("dead")
	_ = c.Close()
	a.Leave("n")
	seen, err := b.Look(t.Context(), "n")
	if err != nil {
		t.Fatal(err)
	}
	newest := func(when string) {
		t.Helper()
		if is, err := listen(t, url, "floor").Newest(t.Context()); err != nil || is <= ahead {
			t.Errorf("the newest fence is %d %s, %v, although %d was given", is, when, err, ahead)
		}
	}
	of, own := a.listening.Present(), b.listening.Present()
	used, err := own.newest(t.Context(), "used")
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []place{{born: 1, version: 5}, used.place} { // it was written since, or the store is an older one
		if err := own.delete(t.Context(), map[string]place{"used": at}); err != nil {
			t.Fatal(err)
		}
	}
	newest("in its record")
	if err := of.deleteAll(t.Context(), a.due(0)); err != nil {
		t.Fatal(err)
	}
	gone := func(name string) bool {
		r, err := b.Look(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return r.Version == ""
	}
	if !gone("n") || gone("used") {
		t.Errorf("n is gone: %v; used is gone: %v", gone("n"), gone("used"))
	}
	newest("after its record is gone")
	a.TakeFor("n", time.Minute)
	a.Leave("n")
	// A record that b had seen before, where the znode has by now been written as often as
	// it had been then.
	now, err := a.Look(t.Context(), "n")
	if err != nil {
		t.Fatal(err)
	}
	born, _, _ := strings.Cut(string(seen.Version), ".")
	_, written, _ := strings.Cut(string(now.Version), ".")
	base := ledger.Version(born + "." + written)
	if at, _, err := parseVersion(base); err != nil || at.version == 0 {
		t.Fatal(base, err)
	}
	own.buckets.forget(b.paths.bucket("n")) // another name may have had it read since
	next, effects = ledger.Step(seen.Record, ledger.Op{Node: "b", Want: 1, Turns: 1, TTL: time.Second}, 0)
	if r, err := b.Swap(t.Context(), ledger.Swap{Name: "n", Base: base, Record: next, Effects: effects}); err != nil || r.Written {
		t.Errorf("a record that was deleted was swapped: %+v, %v", r, err)
	}
	if r := b.TakeFor("n", time.Minute); r.Record.Top <= ahead {
		t.Errorf("fence %d comes after %d", r.Record.Top, ahead)
	}
	until(t, "what a dead node held stays", func() bool { // what the dead have left
		if err := errors.Join(a.scan(t.Context()), of.deleteAll(t.Context(), a.due(0))); err != nil {
			t.Fatal(err)
		}
		return gone("dead")
	})
	if gone("n") {
		t.Error("a record of a living node was deleted")
	}
}

// A znode that was written so often that it comes to the version that means any goes past it,
// whichever write that is.
func TestSkippedVersion(t *testing.T) {
	// Not in parallel: the version is everybody's.
	defer func(was int32) { skipped = was }(skipped)
	skipped = 5
	url := zktest.URL(chroot("skip"), zktest.Shared(t))
	a, b := listen(t, url, "a"), listen(t, url, "b")
	for before := range skipped {
		name := fmt.Sprint("n-", before)
		for range before {
			a.Ask(name, ledger.Op{Want: 1, TTL: time.Minute})
		}
		seen := map[ledger.Version]bool{}
		last := int32(0)
		wrote := func(r ledger.Reply) {
			at, _, err := parseVersion(r.Version)
			if err != nil || at.version == skipped || at.version <= last || seen[r.Version] {
				t.Errorf("after %d writes and version %d there is %s, %v", before, last, r.Version, err)
			}
			last, seen[r.Version] = at.version, true
		}
		wrote(a.TakeFor(name, time.Minute))
		wrote(b.Ask(name, ledger.Op{Want: 1}))
		a.Hears(ledger.Waits)
		a.Leave(name)
		if m := b.Hears(ledger.Look); m.Reply != nil {
			if now, err := b.Look(t.Context(), name); err != nil || now.Version != m.Reply.Version {
				t.Errorf("the message brings %s, there is %s, %v", m.Reply.Version, now.Version, err)
			}
		}
		b.Leave(name)
		if wrote(a.TakeFor(name, time.Minute)); last <= skipped {
			t.Errorf("version %d is not past %d", last, skipped)
		}
	}
}

// What is too large for ZooKeeper is refused, and the connection stays; messages that are
// together too large go without the record.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	a := listen(t, zktest.URL(chroot("large"), zktest.Shared(t)), "a")
	large := func(n int) ledger.Swap {
		s := ledger.Swap{Name: "n", Absolute: true, Record: ledger.Record{Top: 1, Queue: []ledger.Entry{{Node: strings.Repeat("x", n), Want: 1}}}}
		s.Effects.Messages = []ledger.Message{{Node: "a", Kind: ledger.Waits}}
		return s
	}
	if _, err := a.Swap(t.Context(), large(950_000)); !errors.Is(err, backend.ErrRefused) {
		t.Errorf("the error is %v", err)
	}
	before := a.listening.Present()
	if r, err := a.Swap(t.Context(), large(800_000)); err != nil || !r.Written {
		t.Fatalf("%v, %v", r.Written, err)
	}
	if m := a.Hears(ledger.Waits); m.Reply != nil {
		t.Error("the message has the record")
	}
	if a.listening.Present() != before {
		t.Error("the session has ended")
	}
}

// Servers that take less in a request than others end the connection over it, and say nothing. The
// gateway says which lock it was.
func TestLargeForTheServer(t *testing.T) {
	t.Setenv("JAVA_TOOL_OPTIONS", "-Djute.maxbuffer=20000")
	s := zktest.Start(t)
	var log lockedLog
	a, err := OpenTable(Config{URL: zktest.URL(chroot("small"), s), Node: backend.Node{ID: "a"}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.Listen(func(ledger.Addressed) {})
	swap := ledger.Swap{Name: "wide", Absolute: true, Record: ledger.Record{Top: 1, Queue: []ledger.Entry{{Node: strings.Repeat("x", 30_000), Want: 1}}}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := a.Swap(ctx, swap); !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "jute.maxbuffer") {
		t.Errorf("the error is %v, want what may be the reason", err)
	}
	if got := log.String(); !strings.Contains(got, "lock=wide") {
		t.Errorf("the log is %s, want the lock in it", got)
	}
}

// lockedLog is written and read at the same time.
type lockedLog struct {
	mu  sync.Mutex // guards the field below
	all strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// Somebody who may write the znodes writes nonsense.
func TestForeignZnodes(t *testing.T) {
	t.Parallel()
	s := zktest.Shared(t)
	a := listen(t, zktest.URL(chroot("foreign"), s), "a")
	a.Take("n")
	c := zktest.Client(t, s)
	path := a.paths.record("n")
	for _, value := range []string{"", "x", "2 - -\n{}", "1 - -\n{}", "1 x -\n{\"v\":1}", "1 - - -\n{\"v\":1}"} {
		if _, err := c.Set(path, []byte(value), -1); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Try("n", ledger.Op{Want: 1}); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), path) {
			t.Errorf("with %q there: %v", value, err)
		}
		if _, _, err := a.List(t.Context(), "", "", 10); !errors.Is(err, backend.ErrPartly) {
			t.Errorf("with %q there the list says %v", value, err)
		}
	}
	for path, remedy := range map[string]string{a.paths.bucket("m"): "date +%s%6N", a.paths.birth(): "delete"} {
		a.Take("m")
		a.Leave("m")
		was, _, err := c.Get(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Set(path, []byte("junk"), -1); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Try("m", ledger.Op{Want: 1}); !errors.Is(err, backend.ErrRefused) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), remedy) {
			t.Errorf("with junk at %s: %v", path, err)
		}
		if _, err := c.Set(path, was, -1); err != nil {
			t.Fatal(err)
		}
	}
	for _, value := range []string{"", "x", `{"from":"f","n":1,"notes":[{"n":1,"kind":9,"name":"n"},{"n":1,"kind":1}]}`, `{"from":"f","n":2,"notes":[{"n":2,"kind":1,"name":"n"}],"row":"1 1=x:y -\n{}"}`} {
		if _, err := c.Set(a.paths.mail("a"), []byte(value), -1); err != nil {
			t.Fatal(err)
		}
	}
	a.Hears(ledger.Look)
	if _, err := c.Create(a.paths.records()+"/zz", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	a.Take("other")
	// The znodes of a session go: it begins another.
	for _, of := range []func() string{func() string { return a.paths.mail("a") }, func() string { return a.listening.Present().alive() }} {
		path, before := of(), a.listening.Present().id
		if err := c.Delete(path, -1); err != nil {
			t.Fatal(err)
		}
		until(t, path+" was deleted, and nobody has noticed", func() bool { s := a.listening.Present(); return s != nil && s.id != before })
	}
	a.Take("third")
}

// A node reads the last letter alone. It hears all notes of one sender, and knows if those of
// another are missing.
func TestLetters(t *testing.T) {
	t.Parallel()
	table := &Table{posted: posted{me: "A"}}
	table.remains.t = table
	s := &session{t: table}
	other := &session{t: &Table{posted: posted{me: "B"}}}
	send := func(s *session, name string) letter {
		ls := s.letters([]ledger.Addressed{{Name: name, Message: ledger.Message{Node: "x", Kind: ledger.Look}}}, nil)
		if len(ls) != 1 {
			t.Fatal(ls)
		}
		return ls[0]
	}
	var in inbox
	version := int32(0)
	read := func(l letter) (names string, missed bool) {
		o := in.open(s, []byte(l.value), &zk.Stat{Version: version})
		for _, m := range o.ms {
			names += m.Name
		}
		return names, o.missed
	}
	check := func(l letter, names string, missed bool) {
		t.Helper()
		if got, lost := read(l); got != names || lost != missed {
			t.Errorf("it hears %q, something is missing: %v; want %q, %v", got, lost, names, missed)
		}
	}
	post := func(s *session, name string) letter {
		l := send(s, name)
		version++
		s.t.posted.done(l)
		return l
	}
	check(post(s, "a"), "a", false)
	post(s, "b")
	check(post(s, "c"), "bc", false) // b was overwritten, and is in the next one
	post(other, "d")
	check(post(s, "e"), "e", true)
	send(s, "never written")
	check(post(s, "f"), "f", false)
	for range 3 * mostRecent {
		post(s, "g")
	}
	if names, missed := read(post(s, "h")); !missed || !strings.HasSuffix(names, "h") {
		t.Errorf("more than a letter has was overwritten: %q, %v", names, missed)
	}
	// A new session has another znode. What was written to that of before says nothing of this one.
	in, version = inbox{}, 0
	post(other, "lost")
	if names, missed := read(post(s, "j")); !missed || !strings.HasSuffix(names, "j") {
		t.Errorf("in a new session a letter was overwritten: %q, %v", names, missed)
	}
	post(s, "k")
	check(post(s, "l"), "kl", false)
	var x content
	if err := json.Unmarshal([]byte(send(s, "i").value), &x); err != nil || len(x.Notes) > mostRecent+1 {
		t.Errorf("a letter has %d notes, %v", len(x.Notes), err)
	}
}

// A session that was asked about by one that is over is not watched any more, also where the answer
// was late and the next one had begun.
func TestWatchEndsWithItsSession(t *testing.T) {
	t.Parallel()
	table := new(Table)
	table.Init(Config{}, "zookeeper")
	defer table.Stop()
	r := &table.remains
	r.t = table
	s := &session{t: table, c: &conn{over: make(chan struct{})}}
	close(s.c.over)
	l := &life{names: map[string]bool{"n": true}}
	r.sessions = map[string]*life{"holder": l}
	r.await(s, l, "holder", nil)
	if r.knows("holder", "n") {
		t.Error("nobody watches it, and nobody asks again")
	}
}

// Whatever was looked at before, such as by a list of very many names, who waits for one is told when
// the session goes that has it; and those that are forgotten are looked at again.
func TestManyNamesUnderASession(t *testing.T) {
	t.Parallel()
	table := new(Table)
	table.Init(Config{}, "zookeeper")
	defer table.Stop()
	looked := map[string]bool{}
	table.told = func(m ledger.Addressed) { looked[m.Name] = true }
	r := &table.remains
	r.t = table
	s := &session{t: table, c: &conn{over: make(chan struct{})}}
	l := &life{names: map[string]bool{"first": true}}
	r.sessions = map[string]*life{"holder": l}
	for i := range 2 * mostRemains {
		r.knows("holder", fmt.Sprint("n-", i))
	}
	r.knows("holder", "last")
	if !looked["first"] {
		t.Error("the first one was forgotten, and nobody looks at it")
	}
	gone := make(chan zk.Event, 1)
	gone <- zk.Event{Type: zk.EventNodeDeleted}
	r.await(s, l, "holder", gone)
	if len(looked) != 2*mostRemains+2 {
		t.Errorf("%d of %d names were looked at, the last one: %v", len(looked), 2*mostRemains+2, looked["last"])
	}
}

// Many nodes write to one at the same time: it hears of all, or knows that it did not.
func TestCrowdedMailbox(t *testing.T) {
	t.Parallel()
	url := zktest.URL(chroot("crowd"), zktest.Shared(t))
	to := listen(t, url, "to")
	to.Take("n")
	var wg sync.WaitGroup
	const senders, each = 4, 40
	for i := range senders {
		from := listen(t, url, string(rune('a'+i)))
		wg.Go(func() {
			for range each {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				if err := from.Send(ctx, []ledger.Addressed{{Name: from.Node(), Message: ledger.Message{Node: "to", Kind: ledger.Waits}}}); err != nil {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	to.Reach(to.Client)
	heard := 0
	for len(to.Told) > 0 {
		<-to.Told
		heard++
	}
	if heard < senders*each && to.Resync.Load() == 0 {
		t.Errorf("%d of %d messages were heard, and it does not know", heard, senders*each)
	}
}
