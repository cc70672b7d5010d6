package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/ledger"
	"github.com/lockgw/lockgw/session/contender"
)

// What is over is not told, whether anybody here has seen that or not.
func TestTellingIsTrueWhenSaid(t *testing.T) {
	cfg := &contender.Config{Node: "a", Turns: 8, Margin: func(time.Duration) time.Duration { return 0 }}
	whole := &contender.Caller{Owner: "u:1", Entries: 2, Fence: 7, TTL: time.Minute, About: "whole"}
	limited := &contender.Caller{Owner: "u:2", Entries: 1, Fence: 8, TTL: time.Minute, MaxHoldAt: 40 * time.Second}
	fixed := &contender.Caller{Owner: "u:3", Entries: 1, Fence: 9, TTL: 30 * time.Second, Fixed: true, Until: 30 * time.Second}
	kept := &contender.Caller{Owner: "u:4", Entries: 1, Fence: 10, TTL: time.Minute, Kept: true, MinHoldAt: 20 * time.Second}
	c, _ := contender.Recover(0, cfg, contender.Past{
		ID: 5, Mode: backend.Shared, Deadline: time.Minute, Callers: []*contender.Caller{whole, limited, fixed, kept},
	})
	for now, want := range map[time.Duration]string{
		0: "u:1 u:2 u:3 u:4", 20 * time.Second: "u:1 u:2 u:3", 30 * time.Second: "u:1 u:2", 40 * time.Second: "u:1", time.Minute: "",
	} {
		got := tellingOf(c, now)
		var who []string
		for _, w := range got.Callers {
			who = append(who, string(w.Owner))
		}
		if text := strings.Join(who, " "); text != want || got.Holds != len(who) {
			t.Errorf("after %v it tells %d: %q, want %q", now, got.Holds, text, want)
		}
		if got.Left != time.Minute-now {
			t.Errorf("after %v it lasts %v more", now, got.Left)
		}
		last := backend.Fence(10)
		if now >= time.Minute {
			last = 0
		}
		if got.Last != last || got.Waiters != 0 {
			t.Errorf("after %v: %+v", now, got)
		}
	}
	if got := tellingOf(c, 0).Callers[0]; got != (ledger.Caller{Owner: "u:1", Entries: 2, Fence: 7, About: "whole"}) {
		t.Errorf("the first is told as %+v", got)
	}
}

// However much there is to say, it fits into a message, and the counts stay.
func TestTellingFits(t *testing.T) {
	id := strings.Repeat("q", 26)
	for _, n := range []int{10, 300, 5000} {
		said := Telling{Node: "a", Holds: 500, Waiters: 700, Last: 1795193753498620, Left: time.Minute}
		for i := range 20 {
			w := ledger.Caller{Owner: backend.Owner(fmt.Sprint("u:", i)), About: strings.Repeat("ä", n/2), Entries: 1, Fence: backend.Fence(i + 1)}
			said.Callers, said.Waiting = append(said.Callers, w), append(said.Waiting, w)
		}
		text := said.text(id)
		var got told
		if err := json.Unmarshal([]byte(text), &got); err != nil || len(text) > ledger.MaxText {
			t.Fatalf("%d bytes: %v", len(text), err)
		}
		if got.ID != id || got.Node != "a" || got.Holds != 500 || got.Waiters != 700 || got.Last != said.Last || got.Left != said.Left {
			t.Errorf("%d: arrives as %+v", n, got)
		}
		switch holders, waiters := len(got.Callers), len(got.Waiting); {
		case n == 10 && (holders != 20 || waiters != 20),
			n == 300 && (holders < 5 || waiters != 0),
			n == 5000 && (holders != 1 || got.Callers[0].Fence != 1 || got.Callers[0].About != ""):
			t.Errorf("%d: %d of those who hold and %d of those who wait arrive", n, holders, waiters)
		}
		if said.Callers[0].About == "" {
			t.Error("what there was to say was changed")
		}
	}
}
