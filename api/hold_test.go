package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// streamed is a stream that a test reads.
type streamed struct {
	t      *testing.T
	resp   *http.Response
	lines  *bufio.Reader
	hangUp func()

	comments string // read so far
}

// stream sends r and fails unless a stream is the answer.
func (g *gateway) stream(r request) *streamed {
	g.t.Helper()
	ctx, cancel := context.WithCancel(g.t.Context())
	req := g.request(r).WithContext(ctx)
	resp, err := g.client.Do(req)
	if err != nil {
		cancel()
		g.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	if resp.StatusCode != 200 {
		b, _ := io.ReadAll(resp.Body)
		g.t.Errorf("%s %s: status = %d, want 200; body %s", r.method, r.path, resp.StatusCode, b)
	}
	checkAnswer(g.t, req, resp, nil)
	s := &streamed{
		t: g.t, resp: resp, lines: bufio.NewReader(resp.Body), hangUp: func() { cancel(); resp.Body.Close() },
	}
	g.t.Cleanup(s.hangUp)
	return s
}

// event is the next one that is not a comment; "" at the end.
func (s *streamed) event() (id, name, data string) {
	s.t.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		switch {
		case errors.Is(err, io.EOF):
			return "", "", ""
		case err != nil:
			s.t.Fatalf("the stream broke: %v", err)
		case line == ": keepalive\n", line == ": incomplete\n", line == `{"event":"keepalive"}`+"\n", line == `{"event":"incomplete"}`+"\n":
			s.comments += line
		case strings.HasPrefix(line, "{"):
			id, name = s.named(line)
			return id, name, line
		case strings.HasPrefix(line, "id: "):
			id = strings.TrimSpace(line[4:])
		case strings.HasPrefix(line, "event: "):
			name = strings.TrimSpace(line[7:])
		case strings.HasPrefix(line, "data: "):
			data = strings.TrimSpace(line[6:])
		case line == "\n" && name != "":
			return id, name, data
		}
	}
}

func (s *streamed) named(line string) (id, event string) {
	s.t.Helper()
	var v struct{ ID, Event string }
	if err := json.Unmarshal([]byte(line), &v); err != nil {
		s.t.Fatalf("line %q: %v", line, err)
	}
	return v.ID, v.Event
}

// next reads the next event, which has to be want, and checks its data.
func next[T any](s *streamed, want, schema string) T {
	s.t.Helper()
	_, name, data := s.event()
	if name != want {
		s.t.Fatalf("event = %q %s, want %q", name, data, want)
	}
	if strings.HasPrefix(data, `{"event":"`) { // NDJSON: without what is not of the schema
		data = "{" + strings.SplitN(data, ",", 2)[1]
	}
	checkSchema(s.t, schema, data)
	return into[T](s.t, answer{body: data})
}

func (s *streamed) end() {
	s.t.Helper()
	if _, name, data := s.event(); name != "" {
		s.t.Errorf("event = %q %s, want the end of the stream", name, data)
	}
}

func TestHold(t *testing.T) {
	for _, format := range []string{sse, ndjson} {
		g := newGateway(t, session.Config{})
		s := g.stream(request{
			method: "POST", path: "/v1/locks/a/hold?note=x", header: http.Header{"Accept": {format}}, unix: true,
		})
		if got := s.resp.Header.Get("Content-Type"); got != format {
			t.Errorf("Content-Type = %q, want %q", got, format)
		}
		l := next[lock](s, "acquired", "Lock")
		if l.Name != "a" || l.Fence == 0 || l.Note != "x" || l.ValidUntilBoottime == 0 || !l.MaxHoldAt.IsZero() {
			t.Errorf("%s: acquired = %+v, want a, a fence, the note, a deadline, no max_hold_at", format, l)
		}
		s.hangUp()
		until(t, "the lock is free", func() bool { return g.state("a").State == session.StateFree })
		until(t, "the session is gone", func() bool { return g.m.Stats().Sessions == 0 })
	}
}

func TestHoldWaits(t *testing.T) {
	for _, format := range []string{sse, ndjson} {
		g := newGateway(t, session.Config{})
		first := g.acquire("a", "")
		s := g.stream(request{method: "POST", path: "/v1/locks/a/hold", header: http.Header{"Accept": {format}}})
		q := next[queued](s, "queued", "HoldQueued")
		if q.Name != "a" || q.Position != 1 || q.Holder == nil || q.Holder.Owner != first.Owner {
			t.Errorf("%s: queued = %+v, want a, position 1, the holder", format, q)
		}
		g.must(200, request{method: "DELETE", path: "/v1/locks/a", token: first.Token})
		if l := next[lock](s, "acquired", "Lock"); l.Fence <= first.Fence {
			t.Errorf("%s: fence = %d, want above %d", format, l.Fence, first.Fence)
		}
	}
}

func TestHoldHangUpWhileWaiting(t *testing.T) {
	g := newGateway(t, session.Config{})
	g.acquire("a", "")
	s := g.stream(request{method: "POST", path: "/v1/locks/a/hold"})
	next[queued](s, "queued", "HoldQueued")
	s.hangUp()
	until(t, "nobody waits", func() bool { return g.m.Stats() == session.Stats{Sessions: 1, Holds: 1} })
	if log := g.log.String(); log != "" {
		t.Errorf("log = %s, want nothing", log)
	}
}

func TestHoldNotGot(t *testing.T) {
	t.Parallel() // waits for seconds
	g := newGateway(t, session.Config{})
	g.acquire("a", "")
	refused(t, g.do(request{method: "POST", path: "/v1/locks/a/hold?wait=0"}), 423, session.CodeLocked)
	s := g.stream(request{method: "POST", path: "/v1/locks/a/hold", header: http.Header{"Prefer": {"wait=1"}}})
	if got := s.resp.Header.Get("Preference-Applied"); got != "wait=1" {
		t.Errorf("Preference-Applied = %q, want wait=1", got)
	}
	next[queued](s, "queued", "HoldQueued")
	p := next[problem](s, "error", "Problem")
	if p.Code != session.CodeWaitTimeout || p.Status != 423 || p.Lock != "a" || p.RequestID != s.resp.Header.Get(requestIDHeader) {
		t.Errorf("problem = %+v, want wait_timeout of a with the request's id", p)
	}
	s.end()
	until(t, "the session is gone", func() bool { return g.m.Stats().Sessions == 1 })
}

func TestHoldLost(t *testing.T) {
	g := newGateway(t, session.Config{})
	s := g.stream(request{method: "POST", path: "/v1/locks/a/hold?max_hold=0.2"})
	l := next[lock](s, "acquired", "Lock")
	if e := next[eventData](s, "lost", "Event"); e.Reason != "max_hold" || e.Fence != l.Fence || e.Lock != "a" {
		t.Errorf("lost = %+v, want of a, fence %d, reason max_hold", e, l.Fence)
	}
	s.end()
}

func TestHoldInJeopardy(t *testing.T) {
	g := newGateway(t, session.Config{Timeout: 300 * time.Millisecond})
	s := g.stream(request{method: "POST", path: "/v1/locks/a/hold?ttl=3s"})
	l := next[lock](s, "acquired", "Lock")
	g.store.down.Store(true)
	if e := next[eventData](s, "jeopardy", "Event"); e.Fence != l.Fence {
		t.Errorf("jeopardy = %+v, want fence %d", e, l.Fence)
	}
	if e := next[eventData](s, "lost", "Event"); e.Fence != l.Fence || e.Reason == "" {
		t.Errorf("lost = %+v, want fence %d and a reason", e, l.Fence)
	}
	s.end()
}

// Whoever has the token may end the hold.
func TestHoldReleased(t *testing.T) {
	g := newGateway(t, session.Config{})
	s := g.stream(request{method: "POST", path: "/v1/locks/a/hold"})
	l := next[lock](s, "acquired", "Lock")
	g.must(200, request{method: "DELETE", path: "/v1/locks/a", token: l.Token})
	next[eventData](s, "released", "Event")
	s.end()
}

// In a session of its own, the hold ends with the connection and the session goes on.
func TestHoldInSession(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	outer := g.acquire("a", token)
	s := g.stream(request{method: "POST", path: "/v1/locks/a/hold", token: token})
	if l := next[lock](s, "acquired", "Lock"); l.Count != 2 || l.Fence != outer.Fence {
		t.Errorf("acquired = %+v, want the second entry of fence %d", l, outer.Fence)
	}
	s.hangUp()
	count := func() int {
		st := into[struct{ Locks []lock }](t, g.must(200, request{method: "GET", path: "/v1/sessions/self", token: token}))
		return st.Locks[0].Count
	}
	until(t, "the entry is given up", func() bool { return count() == 1 })
}

// A session that lives by its connections lives by that of a hold, too.
func TestHoldKeepsItsSession(t *testing.T) {
	g := newGateway(t, session.Config{})
	sess, token, err := g.m.Open(session.Options{Conns: true, Peer: session.NoPeer()})
	if err != nil {
		t.Fatal(err)
	}
	if err := sess.Attach(); err != nil {
		t.Fatal(err)
	}
	s := g.stream(request{method: "POST", path: "/v1/locks/a/hold", token: token.Secret()})
	next[lock](s, "acquired", "Lock")
	if sess.Detach("hung up"); sess.Err() != nil {
		t.Errorf("it ended with its other connection: %v", sess.Err())
	}
	s.hangUp()
	<-sess.Done()
}

// The hold ends with its connection, whatever key its request has.
func TestHoldWithKey(t *testing.T) {
	g := newGateway(t, session.Config{})
	r := request{method: "POST", path: "/v1/locks/a/hold", token: g.open(), header: http.Header{"Idempotency-Key": {"k"}}}
	first, second := g.stream(r), g.stream(r)
	next[lock](first, "acquired", "Lock")
	if l := next[lock](second, "acquired", "Lock"); l.Count != 2 {
		t.Errorf("count = %d, want 2: each stream is an entry", l.Count)
	}
	first.hangUp()
	second.hangUp()
	until(t, "the lock is free", func() bool { return g.state("a").State == session.StateFree })
}

// A stream tells of its own hold only.
func TestHoldConcerns(t *testing.T) {
	g := newGateway(t, session.Config{})
	s, _, err := g.m.Open(session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cl := &claim{names: []string{"a"}, acquire: session.Acquire{Thread: 2}, sess: s}
	lost := session.Event{Type: session.EventLost, Session: s.ID(), Lock: "a", Thread: 2}
	other, thread := lost, lost
	other.Lock, thread.Thread = "b", 3
	ended := session.Event{Type: session.EventSessionEnded, Session: s.ID()}
	for _, tt := range []struct {
		e    session.Event
		want bool
	}{{lost, true}, {other, false}, {thread, false}, {ended, true}} {
		if got := cl.concerns(tt.e); got != tt.want {
			t.Errorf("concerns(%+v) = %v, want %v", tt.e, got, tt.want)
		}
	}
	// nor of an earlier hold of the same owner
	events := make(chan *session.Event, 2)
	earlier := lost
	earlier.Fence, lost.Fence = 4, 5
	events <- &earlier
	events <- &lost
	c, rec := ginContext(g.request(request{method: "POST", path: "/v1/locks/a/hold"}))
	New(Config{Manager: g.m}).follow(t.Context(), newStream(c), cl, 5, events)
	if b := rec.Body.String(); strings.Count(b, "event: ") != 1 || !strings.Contains(b, `"fence":5`) {
		t.Errorf("stream = %q, want the end of fence 5 alone", b)
	}
}

// A stream whose hold is over leaves alone what its session acquires after that.
func TestHoldOver(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	again := make(chan answer, 1)
	for range 20 {
		s := g.stream(request{method: "POST", path: "/v1/locks/a/hold", token: token})
		next[lock](s, "acquired", "Lock")
		go func() {
			g.do(request{method: "DELETE", path: "/v1/locks/a", token: token})
			again <- g.do(request{method: "PUT", path: "/v1/locks/a", token: token})
		}()
		next[eventData](s, "released", "Event")
		s.end()
		if a := <-again; a.status != 201 {
			t.Fatalf("acquired again: %d %s, want 201", a.status, a.body)
		}
		g.must(200, request{method: "DELETE", path: "/v1/locks/a", token: token}) // still there
	}
}

func TestHoldNotBound(t *testing.T) {
	g := newGateway(t, session.Config{})
	refused(t, g.do(request{method: "POST", path: "/v1/locks/a/hold?bind=pid:1", unix: true}), 400, session.CodeInvalid)
	if g.m.Stats() != (session.Stats{}) {
		t.Errorf("stats = %+v, want none", g.m.Stats())
	}
}

// A gateway that stops tells its streams so.
func TestHoldWhenGatewayStops(t *testing.T) {
	for _, keep := range []bool{false, true} {
		g := newGateway(t, session.Config{KeepHolds: keep})
		s := g.stream(request{method: "POST", path: "/v1/locks/a/hold"})
		next[lock](s, "acquired", "Lock")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := g.m.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if keep {
			if p := next[problem](s, "error", "Problem"); p.Code != session.CodeDraining { // the next process has it
				t.Errorf("problem = %+v, want draining", p)
			}
		} else {
			next[eventData](s, "released", "Event")
		}
		s.end()
	}
}

// Comments keep a stream alive, while it waits and while it holds.
func TestStreamComments(t *testing.T) {
	for format, want := range map[string]string{sse: ": keepalive\n", ndjson: "{\"event\":\"keepalive\"}\n"} {
		g := newGateway(t, session.Config{}, func(c *Config) { c.commentEvery = 5 * time.Millisecond })
		accept := http.Header{"Accept": {format}}
		token := g.open()
		holds := g.stream(request{method: "POST", path: "/v1/locks/a/hold", header: accept})
		waits := g.stream(request{method: "POST", path: "/v1/locks/a/hold", header: accept})
		events := g.stream(request{method: "GET", path: "/v1/sessions/self/events", header: accept, token: token})
		for what, s := range map[string]*streamed{"holding": holds, "waiting": waits, "events": events} {
			for seen := 0; seen < 3; {
				line, err := s.lines.ReadString('\n')
				if err != nil {
					t.Fatalf("%s, %s: %v, want comments", format, what, err)
				}
				if line == want {
					seen++
				}
			}
		}
	}
}
