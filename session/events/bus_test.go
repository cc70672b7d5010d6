package events

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// event is what the tests publish.
type event struct {
	id   ID
	lock string
}

func every(event) bool { return true }

// tell publishes n events of the session, with the locks named from, from+1, ...
func tell(b *Bus[event], session string, from, n int) {
	for i := range n {
		b.Publish(session, func(id ID) event { return event{id, fmt.Sprint(from + i)} })
	}
}

func locks(events []event) (names []string) {
	for _, e := range events {
		names = append(names, e.lock)
	}
	return names
}

func numbers(from, to int) (names []string) {
	for i := from; i < to; i++ {
		names = append(names, fmt.Sprint(i))
	}
	return names
}

func TestID(t *testing.T) {
	id := ID{Start: 1763640949123456, N: 17}
	if got, err := ParseID(id.String()); got != id || err != nil {
		t.Errorf("parse %q = %v, %v, want %v", id, got, err, id)
	}
	var again ID
	if b, err := json.Marshal(id); err != nil || json.Unmarshal(b, &again) != nil || again != id {
		t.Errorf("by JSON %s, %v: %v, want %v", b, err, again, id)
	}
	for _, bad := range []string{"", "-", "7", "7-", "-7", "a-1", "1-a", "1-2-3", "1-18446744073709551616", "9223372036854775808-1", " 1-2"} {
		if got, err := ParseID(bad); err == nil || got != (ID{}) {
			t.Errorf("parse %q = %v, %v, want an error and no id", bad, got, err)
		}
	}
}

func TestResume(t *testing.T) {
	b := New[event]()
	before := b.Follow("a", 10, every)
	tell(b, "a", 0, 2)
	<-before.C
	seen := (<-before.C).id // of 1
	before.Close()
	tell(b, "a", 2, 3) // while nobody listens
	tell(b, "b", 100, 1)
	for name, tt := range map[string]struct {
		session  string
		seen     ID
		missed   []string
		complete bool
	}{
		"what came after it":        {"a", seen, numbers(2, 5), true},
		"nothing has come after it": {"a", ID{seen.Start, seen.N + 4}, nil, true},
		"from the beginning":        {"a", ID{seen.Start, 0}, numbers(0, 5), true},
		"of another session":        {"b", seen, []string{"100"}, true},
		"of all sessions":           {"", seen, append(numbers(2, 5), "100"), true},
		"of an earlier process":     {"a", ID{seen.Start - 1, seen.N + 4}, numbers(0, 5), false},
		"of the future":             {"a", ID{seen.Start, seen.N + 100}, numbers(0, 5), false},
		"of nobody":                 {"a", ID{}, numbers(0, 5), false},
	} {
		s, missed, complete := b.Resume(tt.session, 10, tt.seen)
		if !slices.Equal(locks(missed), tt.missed) || complete != tt.complete {
			t.Errorf("%s: missed = %v, complete %v, want %v, %v", name, locks(missed), complete, tt.missed, tt.complete)
		}
		s.Close()
	}
}

// The id is as old as what was pushed out, one older, and one younger.
func TestResumeTooOld(t *testing.T) {
	b := New[event]()
	tell(b, "a", 0, kept+10)
	for seen, want := range map[uint64]struct {
		from     int
		complete bool
	}{9: {10, false}, 10: {10, true}, 11: {11, true}} {
		s, missed, complete := b.Resume("a", 1, ID{b.last.Start, seen})
		if !slices.Equal(locks(missed), numbers(want.from, kept+10)) || complete != want.complete {
			t.Errorf("after %d: %d events from %s on, complete %v, want from %d on, %v",
				seen, len(missed), missed[0].lock, complete, want.from, want.complete)
		}
		s.Close()
	}
}

// What is missed and what comes over the channel are all there is, each once.
func TestResumeWhilePublishing(t *testing.T) {
	b := New[event]()
	seen := b.last
	const events = 500
	var publishing sync.WaitGroup
	publishing.Go(func() { tell(b, "a", 0, events) })
	for range 50 {
		s, missed, _ := b.Resume("a", events, seen)
		got := locks(missed)
		for len(got) < events {
			got = append(got, (<-s.C).lock)
		}
		if !slices.Equal(got, numbers(0, events)) {
			t.Fatalf("got %v, want 0 to %d", got, events-1)
		}
		s.Close()
	}
	publishing.Wait()
}

func TestSlowReaderIsDropped(t *testing.T) {
	b := New[event]()
	slow, other, all := b.Follow("a", 1, every), b.Follow("a", 3, every), b.Follow("", 3, every)
	tell(b, "a", 0, 3)
	if got := len(slow.C); got != 1 {
		t.Errorf("%d events for the slow reader, want 1", got)
	}
	<-slow.C
	if _, open := <-slow.C; open {
		t.Error("the slow reader goes on after an event was dropped")
	}
	if len(other.C) != 3 || len(all.C) != 3 || !b.Heard() {
		t.Errorf("%d and %d events for the others, heard %v, want 3, 3, true", len(other.C), len(all.C), b.Heard())
	}
	slow.Close() // again: nothing happens
	other.Close()
	all.Close()
	if b.Heard() || len(b.of) != 0 || len(b.all) != 0 {
		t.Errorf("heard %v by %d sessions and %d more after all are closed, want by none", b.Heard(), len(b.of), len(b.all))
	}
}

// An event asks no filter of another session: thousands of streams are no burden
// for the locks of others.
func TestFiltersOfOtherSessions(t *testing.T) {
	b := New[event]()
	asked := 0
	for i := range 1000 {
		defer b.Follow(fmt.Sprint("s", i), 1, func(event) bool { asked++; return true }).Close()
	}
	tell(b, "s7", 0, 1)
	tell(b, "nobody", 0, 1)
	if asked != 1 {
		t.Errorf("2 events asked %d filters, want the one of the session", asked)
	}
}

func BenchmarkPublish(b *testing.B) {
	for _, streams := range []int{0, 1, 10_000} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			bus := New[event]()
			for i := range streams {
				bus.Follow(fmt.Sprint("s", i), 1, every)
			}
			e := event{lock: strings.Repeat("x", 20)}
			b.ReportAllocs()
			for b.Loop() {
				bus.Publish("quiet", func(ID) event { return e })
			}
		})
	}
}

// Thousands of clients may listen, and what one event takes does not depend on how many do.
func TestSubscriptionsAreSmall(t *testing.T) {
	const subscriptions, buffer = 1000, 1024
	b := New[event]()
	all := make([]*Subscription[event], subscriptions)
	used := func(f func()) int {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return int(after.TotalAlloc - before.TotalAlloc)
	}
	n := used(func() {
		for i := range all {
			all[i] = b.Follow("", buffer, every)
		}
	})
	if n /= subscriptions; n > 16*buffer {
		t.Errorf("a subscription takes %d bytes, want about 8 for each of %d events", n, buffer)
	}
	if n := used(func() { tell(b, "s", 0, 100) }) / 100; n > 4<<10 {
		t.Errorf("an event takes %d bytes", n)
	}
	first, last := <-all[0].C, <-all[subscriptions-1].C
	if first != last || first.lock != "0" {
		t.Errorf("told %+v and %+v, want the same", first, last)
	}
}
