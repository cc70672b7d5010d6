package socket

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/socket/resp"
)

// told is what an event says, in every form.
type told struct {
	Event, Token, Lock string
	Fence              backend.Fence
}

// trouble are the events among all that are about a hold in trouble.
func trouble(all []told) (some []string) {
	for _, m := range all {
		if m.Event == "jeopardy" || m.Event == "lost" {
			some = append(some, fmt.Sprint(m.Event, " ", m.Lock, " ", m.Fence))
		}
	}
	return some
}

// eventStream is a stream of the other front.
type eventStream struct {
	t     *testing.T
	lines *bufio.Scanner
}

func follow(t *testing.T, socket, method, path, token, format string) *eventStream {
	t.Helper()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	client := http.Client{Transport: &http.Transport{DialContext: dial}, Timeout: 2 * slack}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://lockgw"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", format)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { answer.Body.Close(); client.CloseIdleConnections() })
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s", method, path, answer.Status)
	}
	return &eventStream{t, bufio.NewScanner(answer.Body)}
}

// next reads one event of either format; false at the end.
func (s *eventStream) next() (m told, ok bool) {
	s.t.Helper()
	for s.lines.Scan() {
		line := s.lines.Text()
		if event, ok := strings.CutPrefix(line, "event: "); ok {
			m.Event = event
			continue
		}
		line = strings.TrimPrefix(line, "data: ")
		if !strings.HasPrefix(line, "{") {
			continue
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			s.t.Fatalf("event %q: %v", line, err)
		}
		return m, true
	}
	return told{}, false
}

func (s *eventStream) rest() (all []told) {
	for m, ok := s.next(); ok; m, ok = s.next() {
		all = append(all, m)
	}
	return all
}

// untilLost reads messages until one tells of a loss, and then what else was told
// until a PING is answered.
func (w *wire) untilLost() (all []told) {
	w.t.Helper()
	for {
		m, ok := w.message(w.read())
		if !ok {
			return all
		}
		if all = append(all, m); m.Event == "lost" {
			w.send("PING")
		}
	}
}

// message reads what was sent without being asked for; false: an answer.
func (w *wire) message(got any) (m told, ok bool) {
	w.t.Helper()
	if push, ok := got.(resp.Push); ok {
		got = []any(push)
	}
	parts, _ := got.([]any)
	switch {
	case len(parts) == 5 && parts[0] == pushKind:
		return told{Event: parts[1].(string), Lock: parts[2].(string), Fence: backend.Fence(parts[3].(int64))}, true
	case len(parts) == 3 && parts[0] == "message":
		if err := json.Unmarshal([]byte(parts[2].(string)), &m); err != nil {
			w.t.Fatal(err)
		}
		return m, true
	default:
		return told{}, false
	}
}

// A hold whose renewals fail is told to be in jeopardy, and to be lost when its
// lease is over: each once, in this order, in all four ways.
func TestTroubleIsTold(t *testing.T) {
	t.Parallel() // waits for seconds
	var mute atomic.Bool
	g := start(t, withDeafStore(func(string) bool { return mute.Load() }))
	socket := g.http()
	hold := follow(t, socket, "POST", "/v1/locks/a/hold?ttl=2s", "", "text/event-stream")
	acquired, _ := hold.next()
	ofSession := follow(t, socket, "GET", "/v1/sessions/self/events", acquired.Token, "application/x-ndjson")
	pushed, subscribed := g.dial3(), g.dial()
	pushed.want("OK", "AUTH", acquired.Token)
	subscribed.want([]any{"subscribe", "lock:a", int64(1)}, "SUBSCRIBE", "lock:a")
	mute.Store(true)
	got := map[string][]told{"hold stream": hold.rest()} // it ends with the hold
	mute.Store(false)
	got["push"], got["subscription"] = pushed.untilLost(), subscribed.untilLost()
	pushed.want("OK", "SESSION", "END")
	got["session stream"] = ofSession.rest() // it ends with the session
	want := []string{fmt.Sprint("jeopardy a ", acquired.Fence), fmt.Sprint("lost a ", acquired.Fence)}
	for way, all := range got {
		if some := trouble(all); !slices.Equal(some, want) {
			t.Errorf("%s: told %q, want %q", way, some, want)
		}
	}
}
