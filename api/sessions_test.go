package api

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

func TestOpenSession(t *testing.T) {
	g := newGateway(t, session.Config{})
	a := g.must(201, request{
		method: "POST", path: "/v1/sessions", unix: true,
		body: `{"name":"jobs","meta":{"team":"storage"},"ttl":"10s","keepalive":"2m","max_hold":3600}`,
	})
	s := into[sessionInfo](t, a)
	if s.Name != "jobs" || s.Meta["team"] != "storage" || s.TTLMS != 10000 || s.KeepaliveMS != 120000 || s.MaxHoldMS != 3600000 {
		t.Errorf("session = %+v, want what was asked", s)
	}
	if s.PID == 0 || s.Token == "" || s.ID == "" || s.UUID == "" || a.header.Get("Location") != "/v1/sessions/self" {
		t.Errorf("session = %+v, Location %q, want pid, token, id, uuid, /v1/sessions/self", s, a.header.Get("Location"))
	}
	l := g.acquire("a", s.Token)
	if l.TTLMS > 10000 || l.MaxHoldAt.IsZero() || l.Owner != s.owner(1) {
		t.Errorf("lock = %+v, want the session's ttl, max_hold and owner", l)
	}
}

func (s sessionInfo) owner(thread int) backend.Owner {
	return backend.Owner(fmt.Sprintf("%s:%d", s.UUID, thread))
}

func TestSessionDefaults(t *testing.T) {
	g := newGateway(t, session.Config{Session: session.Lifetime{Keepalive: 33 * time.Second}})
	s := into[sessionInfo](t, g.must(201, request{method: "POST", path: "/v1/sessions"}))
	if s.KeepaliveMS != 33000 || s.MaxHoldMS != 0 || s.PID != 0 {
		t.Errorf("session = %+v, want the configured keepalive, no max_hold, no pid", s)
	}
}

func TestSilentSessionEnds(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := ""
	for keepalive := time.Second; ; keepalive *= 3 { // a busy machine may be silent itself
		token = into[sessionInfo](t, g.must(201, request{method: "POST", path: "/v1/sessions", body: fmt.Sprintf(`{"keepalive":%q}`, keepalive)})).Token
		g.must(201, request{method: "PUT", path: "/v1/locks/a?wait=1m", token: token})
		if silent := g.keptAlive(token, keepalive); silent < keepalive {
			break
		}
	}
	until(t, "the lock is free", func() bool { return g.state("a").State == session.StateFree })
	refused(t, g.do(request{method: "POST", path: "/v1/sessions/self/keepalive", token: token}), 401, session.CodeSessionEnded)
}

// keptAlive sends signs of life for longer than the keepalive of a session, and returns how
// long the gateway may have heard nothing. If that is less, each has to be taken.
func (g *gateway) keptAlive(token string, keepalive time.Duration) (silent time.Duration) {
	g.t.Helper()
	last := time.Now()
	for range 5 {
		time.Sleep(keepalive / 4)
		sent := time.Now()
		a := g.do(request{method: "POST", path: "/v1/sessions/self/keepalive", token: token})
		if silent = max(silent, time.Since(last)); silent >= keepalive {
			return silent
		}
		if last = sent; a.status != 200 {
			g.t.Fatalf("a sign of life after %v of silence: status %d, body %s", silent, a.status, a.body)
		}
	}
	return silent
}

func TestSessionOfProcess(t *testing.T) {
	g := newGateway(t, session.Config{})
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"bind":{"pid":%d}}`, cmd.Process.Pid)
	refused(t, g.do(request{method: "POST", path: "/v1/sessions", body: body}), 400, session.CodeInvalid)
	s := into[sessionInfo](t, g.must(201, request{method: "POST", path: "/v1/sessions", body: body, unix: true}))
	if s.KeepaliveMS != 0 {
		t.Errorf("keepalive_ms = %d, want none: the process is the proof of life", s.KeepaliveMS)
	}
	g.acquire("a", s.Token)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	until(t, "the lock is free", func() bool { return g.state("a").State == session.StateFree })
}

func TestShowSession(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	g.acquire("taken", "")
	g.acquire("a", token)
	waiter := make(chan answer, 1)
	go func() {
		waiter <- g.do(request{method: "PUT", path: "/v1/locks/taken?wait=1m&thread=3", token: token})
	}()
	until(t, "the caller waits", func() bool { return g.m.Stats().Waiters == 1 })
	a := g.must(200, request{method: "GET", path: "/v1/sessions/self", token: token})
	s := into[struct {
		Token  string
		Locks  []lock
		Queues []queue
	}](t, a)
	if len(s.Locks) != 1 || s.Locks[0].Name != "a" || s.Locks[0].Token != "" || s.Token != "" {
		t.Errorf("locks = %+v, token %q, want a, and no token", s.Locks, s.Token)
	}
	if len(s.Queues) != 1 || s.Queues[0].Name != "taken" || s.Queues[0].Thread != 3 || s.Queues[0].Since.IsZero() {
		t.Errorf("queues = %+v, want taken with thread 3", s.Queues)
	}
	r := into[struct{ Released []string }](t, g.must(200, request{method: "DELETE", path: "/v1/sessions/self", token: token}))
	if !slices.Equal(r.Released, []string{"a"}) {
		t.Errorf("released = %q, want a", r.Released)
	}
	refused(t, <-waiter, 401, session.CodeSessionEnded)
	for _, r := range []request{
		{method: "GET", path: "/v1/sessions/self"},
		{method: "DELETE", path: "/v1/sessions/self"},
		{method: "GET", path: "/v1/sessions/self/events"},
		{method: "PUT", path: "/v1/locks/a"},
		{method: "DELETE", path: "/v1/locks/a"},
	} {
		r.token = token
		refused(t, g.do(r), 401, session.CodeSessionEnded)
	}
}

func TestEndSessionWithoutStore(t *testing.T) {
	g := newGateway(t, session.Config{Timeout: 300 * time.Millisecond})
	token := g.open()
	g.acquire("a", token)
	g.store.down.Store(true)
	r := into[releasing](t, g.must(202, request{method: "DELETE", path: "/v1/sessions/self", token: token}))
	if r.State != "releasing" || r.FreeByMS <= 0 || r.FreeByMS > 30000 {
		t.Errorf("answer = %+v, want releasing, free within the ttl", r)
	}
}

func TestSessionEvents(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	s := g.stream(request{method: "GET", path: "/v1/sessions/self/events", token: token})
	g.acquire("other", "")
	l := g.acquire("a", token)
	id, name, data := s.event()
	if name != "acquired" || id == "" {
		t.Fatalf("event = %q %q %s, want acquired, with an id", id, name, data)
	}
	checkSchema(t, "Event", data)
	if e := into[eventData](t, answer{body: data}); e.Lock != "a" || e.Owner != l.Owner || e.Fence != l.Fence {
		t.Errorf("acquired = %+v, want a, its owner and fence", e)
	}
	g.must(200, request{method: "DELETE", path: "/v1/sessions/self", token: token})
	if e := next[eventData](s, "released", "Event"); e.Lock != "a" {
		t.Errorf("released = %+v, want a", e)
	}
	if e := next[eventData](s, "session_ended", "Event"); e.Reason == "" {
		t.Errorf("session_ended = %+v, want a reason", e)
	}
	s.end()
}

// A session that ends while its stream is being opened leaves no stream without an
// end.
func TestSessionEventsTooLate(t *testing.T) {
	g := newGateway(t, session.Config{})
	s, _, err := g.m.Open(session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.End(t.Context(), "test")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, rec := ginContext(g.request(request{method: "GET", path: "/v1/sessions/self/events"}).WithContext(ctx))
	if err := New(Config{Manager: g.m}).relay(c, s, nil); session.CodeOf(err) != session.CodeSessionEnded || rec.Body.Len() > 0 {
		t.Errorf("err = %v, body %q, want session_ended and no stream", err, rec.Body)
	}
}

// A gateway that leaves the holds to the next process refuses the last requests in the
// words of the document; do compares them.
func TestSessionOfTheNextProcess(t *testing.T) {
	g := newGateway(t, session.Config{KeepHolds: true})
	token := g.open()
	if err := g.m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, r := range []request{
		{method: "GET", path: "/v1/sessions/self"}, {method: "DELETE", path: "/v1/sessions/self"},
		{method: "POST", path: "/v1/sessions/self/keepalive"}, {method: "GET", path: "/v1/sessions/self/events"},
	} {
		r.token = token
		refused(t, g.do(r), 503, session.CodeDraining)
	}
}
