package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// wantAcquired reads the next events, which have to be of these locks.
func (s *streamed) wantAcquired(locks ...string) (last string) {
	s.t.Helper()
	for _, want := range locks {
		id, name, data := s.event()
		e := into[struct{ Lock string }](s.t, answer{body: data})
		if name != "acquired" || e.Lock != want || id == "" {
			s.t.Fatalf("event = %q, %q of %q, want acquired of %q with an id", id, name, e.Lock, want)
		}
		last = id
	}
	return last
}

// events opens the stream of the session, for a client that has seen that event.
func (g *gateway) events(token, format, seen string) *streamed {
	g.t.Helper()
	header := http.Header{"Accept": {format}}
	if seen != "-" {
		header.Set("Last-Event-Id", seen)
	}
	return g.stream(request{method: "GET", path: "/v1/sessions/self/events", token: token, header: header})
}

// A client whose stream broke comes back and is told what it has missed, and then
// what happens. One whose id nobody here gave out is told all there is, and that
// it may not be all.
func TestEventsResume(t *testing.T) {
	for _, format := range []string{sse, ndjson} {
		g := newGateway(t, session.Config{})
		for _, tt := range []struct {
			what  string
			id    func(seen string) string
			told  []string
			whole bool
		}{
			{"no id", func(string) string { return "-" }, nil, true},
			{"an empty id", func(string) string { return "" }, nil, true},
			{"the last one seen", func(seen string) string { return seen }, []string{"missed"}, true},
			{"of an earlier process", func(seen string) string { return "0" + seen[1:] }, []string{"seen", "missed"}, false},
			{"of another version", func(string) string { return "7" }, []string{"seen", "missed"}, false},
			{"nonsense", func(string) string { return strings.Repeat("%", 1000) }, []string{"seen", "missed"}, false},
		} {
			token := g.open()
			s := g.events(token, format, "-")
			g.acquire("seen", token)
			seen := s.wantAcquired("seen")
			s.hangUp()
			g.acquire("missed", token)
			s = g.events(token, format, tt.id(seen))
			g.acquire("later", token)
			s.wantAcquired(append(tt.told, "later")...)
			if whole := !strings.Contains(s.comments, incomplete); whole != tt.whole {
				t.Errorf("%s, %s: comments %q, want one that events may be missing: %v", format, tt.what, s.comments, !tt.whole)
			}
			s.hangUp()
			g.must(200, request{method: "DELETE", path: "/v1/sessions/self", token: token})
		}
	}
}

func TestEventsOfTwoIDs(t *testing.T) {
	g := newGateway(t, session.Config{})
	a := g.do(request{
		method: "GET", path: "/v1/sessions/self/events", token: g.open(), header: http.Header{"Last-Event-Id": {"1-1", "1-2"}},
	})
	refused(t, a, 400, session.CodeInvalid)
}

// An event that is told later says what was so when it happened.
func TestEventOfThen(t *testing.T) {
	then := time.Now().Add(-time.Hour)
	e := eventOf(session.Event{Time: then, Holder: &session.Holder{Owner: "u:1", Peer: session.NoPeer(), Since: then.Add(-3 * time.Second)}})
	if e.Holder.HeldMS != 3000 {
		t.Errorf("held_ms = %d, want 3000", e.Holder.HeldMS)
	}
}
