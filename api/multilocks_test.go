package api

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

const multilocks = "/v1/multilocks"

// acquireAll takes the names of body and returns what was acquired.
func (g *gateway) acquireAll(body, token string) multilock {
	g.t.Helper()
	return into[multilock](g.t, g.must(201, request{method: "POST", path: multilocks, body: body, token: token}))
}

// releaseAll gives them back and returns the names that are free.
func (g *gateway) releaseAll(body, token string) []string {
	g.t.Helper()
	a := g.must(200, request{method: "DELETE", path: multilocks, body: body, token: token})
	return into[struct{ Released []string }](g.t, a).Released
}

func (g *gateway) wantState(want session.State, names ...string) {
	g.t.Helper()
	for _, name := range names {
		if st := g.state(name); st.State != want {
			g.t.Errorf("%s is %s, want %s", name, st.State, want)
		}
	}
}

func TestMultilock(t *testing.T) {
	g := newGateway(t, session.Config{})
	m := g.acquireAll(`{"names":["c","a","b"],"ttl":"10s","thread":3,"renew":false,"max_hold":"1m","note":"stock"}`, "")
	for i, name := range []string{"c", "a", "b"} {
		l := m.Locks[i]
		if l.Name != name || l.State != session.StateHeld || l.Thread != 3 || l.Count != 1 || l.Fence == 0 || l.Note != "stock" ||
			l.AutoRenew || l.TTLMS > 10000 || l.Token != m.Token || time.Until(l.MaxHoldAt) > time.Minute {
			t.Errorf("lock %d = %+v, want %s as it was asked for", i, l, name)
		}
	}
	if got := g.releaseAll(`{"names":["a","b"],"thread":3}`, m.Token); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("released = %q, want a and b", got)
	}
	g.wantState(session.StateFree, "a", "b")
	g.wantState(session.StateHeld, "c")
	if got := g.releaseAll("", m.Token); !slices.Equal(got, []string{"c"}) {
		t.Errorf("released = %q, want c", got)
	}
	until(t, "the session ends with its last lock", func() bool { return g.m.Stats().Sessions == 0 })
}

func TestMultilockOfASession(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	g.acquire("b", token)
	m := g.acquireAll(`{"names":["b","a"]}`, token)
	if m.Token != token || m.Locks[0].Count != 2 || m.Locks[1].Count != 1 {
		t.Errorf("multilock = %+v, want b entered twice and a once", m)
	}
	if got := g.releaseAll(`{"names":["b","a"]}`, token); !slices.Equal(got, []string{"a"}) {
		t.Errorf("released = %q, want a; b has an entry left", got)
	}
	refused(t, g.do(request{method: "DELETE", path: multilocks, body: `{"names":["b","a"]}`, token: token}), 403, session.CodeNotOwner)
	g.wantState(session.StateHeld, "b")
	if got := g.releaseAll("", token); !slices.Equal(got, []string{"b"}) {
		t.Errorf("released = %q, want b", got)
	}
	if got := g.releaseAll("", token); got == nil || len(got) != 0 {
		t.Errorf("released = %q, want an empty list", got)
	}
}

func TestMultilockRefused(t *testing.T) {
	g := newGateway(t, session.Config{})
	l := g.acquire("b?note=mine", "")
	for path, code := range map[string]session.Code{"": session.CodeLocked, "?wait=0.05": session.CodeWaitTimeout} {
		a := g.do(request{method: "POST", path: multilocks + path, body: `{"names":["c","b","a"]}`})
		p := refused(t, a, 423, code)
		if p.Lock != "b" || p.Holder == nil || p.Holder.Owner != l.Owner || p.Holder.Note != "mine" || a.header.Get("Retry-After") == "" {
			t.Errorf("problem = %+v, want lock b, its holder, Retry-After", p)
		}
		g.wantState(session.StateFree, "a", "c")
		if n := g.m.Stats().Sessions; n != 1 {
			t.Errorf("sessions = %d, want only the holder's", n)
		}
	}
}

func TestMultilockCycle(t *testing.T) {
	g := newGateway(t, session.Config{})
	one, two := g.open(), g.open()
	g.acquire("a", one)
	g.acquire("b", two)
	got := make(chan answer, 1)
	go func() { got <- g.do(request{method: "PUT", path: "/v1/locks/a?wait=1m", token: two}) }()
	until(t, "the caller waits", func() bool { return g.m.Stats().Waiters == 1 })
	p := refused(t, g.do(request{method: "POST", path: multilocks, body: `{"names":["b"],"wait":20}`, token: one}), 409, session.CodeConflict)
	if p.Lock != "b" || p.Holder == nil {
		t.Errorf("problem = %+v, want lock b and its holder", p)
	}
	g.releaseAll("", one)
	if a := <-got; a.status != 201 {
		t.Errorf("status = %d, want 201; body %s", a.status, a.body)
	}
}

func TestMultilockText(t *testing.T) {
	g := newGateway(t, session.Config{})
	a := g.must(201, request{
		method: "POST", path: multilocks, body: `{"names":["a","b"]}`,
		header: http.Header{"Accept": {"text/plain"}, "Prefer": {"wait=1"}},
	})
	if a.header.Get("Preference-Applied") != "wait=1" {
		t.Errorf("Preference-Applied = %q, want wait=1", a.header.Get("Preference-Applied"))
	}
	if got := g.releaseAll("", strings.TrimSpace(a.body)); len(got) != 2 {
		t.Errorf("released = %q, want a and b", got)
	}
}

func TestMultilockOfAProcess(t *testing.T) {
	g := newGateway(t, session.Config{})
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"names":["a","b"],"bind":"pid:%d"}`, cmd.Process.Pid)
	m := into[multilock](t, g.must(201, request{method: "POST", path: multilocks, body: body, unix: true}))
	if m.Locks[0].ValidUntilBoottime == 0 {
		t.Error("no valid_until_boottime_ns over the Unix socket")
	}
	g.wantState(session.StateHeld, "a", "b")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	until(t, "both are free", func() bool { return g.m.Stats() == session.Stats{} })
	g.wantState(session.StateFree, "a", "b")
}

func TestMultilockRepeats(t *testing.T) {
	g := newGateway(t, session.Config{})
	for _, token := range []string{"", g.open()} {
		r := request{
			method: "POST", path: multilocks, body: `{"names":["a","b"]}`, token: token,
			header: http.Header{"Idempotency-Key": {"job-1"}}, unix: true,
		}
		first, again := into[multilock](t, g.must(201, r)), into[multilock](t, g.must(201, r))
		if again.Token != first.Token || again.Locks[0].Fence != first.Locks[0].Fence || again.Locks[0].Count != 1 {
			t.Errorf("repeat = %+v, want %+v", again, first)
		}
		r.body = `{"names":["a"]}`
		refused(t, g.do(r), 409, session.CodeConflict)
		r = request{
			method: "DELETE", path: multilocks, body: `{"names":["a","b"]}`, token: first.Token,
			header: http.Header{"Idempotency-Key": {"job-2"}}, unix: true,
		}
		for range 2 {
			if a := g.must(200, r); !strings.Contains(a.body, `["a","b"]`) {
				t.Errorf("body = %s, want both released, each time", a.body)
			}
		}
	}
}

// A client that hangs up stops waiting, and what it had got is free.
func TestMultilockHangUp(t *testing.T) {
	g := newGateway(t, session.Config{})
	g.acquire("b", "")
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		r := g.request(request{method: "POST", path: multilocks, body: `{"names":["a","b"],"wait":"1m"}`})
		_, err := g.client.Do(r.WithContext(ctx))
		gone <- err
	}()
	until(t, "the caller waits", func() bool { return g.m.Stats().Waiters == 1 })
	g.wantState(session.StateHeld, "a")
	hangUp()
	if err := <-gone; err == nil {
		t.Fatal("got an answer, want none")
	}
	until(t, "nobody waits", func() bool { return g.m.Stats() == session.Stats{Sessions: 1, Holds: 1} })
	g.wantState(session.StateFree, "a")
}

// Grants that come when their client has hung up already, or of which one is over
// when they are to be told, are given back.
func TestMultilockOrphans(t *testing.T) {
	g := newGateway(t, session.Config{})
	h := New(Config{Manager: g.m})
	token := g.open()
	g.acquire("b", token)
	for _, what := range []string{"hung up", "lost"} {
		for _, tok := range []string{"", token} {
			names := []string{"a", "b"}
			if tok == "" {
				names = []string{"a", "c"}
			}
			cl := &claim{names: names, acquire: session.Acquire{Thread: 1}}
			if what == "hung up" {
				cl.acquire.MinHold = time.Minute // keeps no name then
			}
			req := g.request(request{method: "POST", path: multilocks, token: tok})
			if err := begin(h, req, cl); err != nil {
				t.Fatal(err)
			}
			grants, err := cl.sess.AcquireAll(t.Context(), cl.names, cl.acquire)
			if err != nil {
				t.Fatal(err)
			}
			ctx, hangUp := context.WithCancel(t.Context())
			if what == "hung up" {
				hangUp()
			} else if _, err := cl.sess.Release(ctx, "a", 1, false, ""); err != nil {
				t.Fatal(err)
			}
			c, rec := ginContext(req.WithContext(ctx))
			if err := settleAll(c, cl, grants, nil); err == nil || rec.Body.Len() > 0 {
				t.Errorf("%s: err = %v, body %q, want an error and nothing told", what, err, rec.Body)
			}
			hangUp()
			until(t, "only the session's own lock is held", func() bool { return g.m.Stats() == session.Stats{Sessions: 1, Holds: 1} })
			l := g.acquire("b", token)
			if l.Count != 2 {
				t.Errorf("%s: count of b = %d, want 2: its own entry and this one", what, l.Count)
			}
			g.must(200, request{method: "DELETE", path: "/v1/locks/b", token: token})
		}
	}
}

func TestMultilockWithoutStore(t *testing.T) {
	g := newGateway(t, session.Config{Timeout: 300 * time.Millisecond})
	m := g.acquireAll(`{"names":["a","b"]}`, "")
	g.store.down.Store(true)
	a := g.must(202, request{method: "DELETE", path: multilocks, token: m.Token})
	if r := into[releasing](t, a); r.State != "releasing" || r.FreeByMS <= 0 || r.FreeByMS > 30000 {
		t.Errorf("answer = %+v, want releasing, free within the ttl", r)
	}
	p := into[problem](t, g.must(503, request{method: "POST", path: multilocks, body: `{"names":["c","d"]}`}))
	if p.Lock != "c" || p.Held == nil || *p.Held {
		t.Errorf("problem = %+v, want lock c, held false", p)
	}
}

func TestMultilockBadRequests(t *testing.T) {
	g := newGateway(t, session.Config{Limits: session.Limits{HoldsPerSession: 3}})
	token := g.open()
	var rows []badRequest
	for _, tt := range []struct{ body, detail string }{
		{"", "names: is missing"}, {"{}", "names: is missing"}, {`{"names":null}`, "names: must be an array, not null"},
		{`{"names":"a"}`, "names: must be an array"}, {`{"names":[]}`, "names: must have at least one"},
		{`{"names":["a",1]}`, "names: number 2 must be a string"}, {`{"names":["a",null]}`, "number 2 must be a string"},
		{`{"names":[["a"]]}`, "number 1 must be a string"}, {`{"names":["a","b","a"]}`, `has "a" twice`},
		{`{"names":["a",""]}`, "names[1]: must not be empty"}, {`{"names":["a b"]}`, "names[0]: "}, {`{"names":["lockgw:a"]}`, "names[0]: "},
		{`{"names":["a","b","c","d"]}`, "the limit is 3"}, {`{"names":["a"],"ttl":0}`, "ttl: "}, {`{"names":["a"],"ttl":"25h"}`, "ttl: "},
		{`{"names":["a"],"wait":"6m"}`, "lock.max_wait"}, {`{"names":["a"],"thread":0}`, "thread: "}, {`{"name":"a"}`, "name: is not known"},
		{`{"names":["a"],"names":["b"]}`, "more than once"}, {`{"names":["a"],"bind":"pid:1"}`, "Unix socket"},
		{`{"names":["a"],"note":"\u001b"}`, "note: "}, {`{"names":["a"`, "ends too early"},
	} {
		rows = append(rows, badRequest{request{method: "POST", path: multilocks, body: tt.body}, 400, session.CodeInvalid, tt.detail})
	}
	for _, r := range []badRequest{
		{request: request{method: "POST", path: multilocks + "?names=a"}, detail: "names: belongs in the JSON body"},
		{request: request{method: "POST", path: multilocks, body: `{"names":["a"],"bind":"pid:1"}`, token: token, unix: true}, detail: "bind: "},
		{request: request{method: "DELETE", path: multilocks, body: `{"names":[]}`, token: token}, detail: "names: must have at least one"},
		{request: request{method: "DELETE", path: multilocks, body: `{"names":["a","a"]}`, token: token}, detail: "twice"},
		{request: request{method: "DELETE", path: multilocks, body: `{"thread":2}`, token: token}, detail: "thread: belongs to names"},
		{request: request{method: "DELETE", path: multilocks, body: `{"all":true}`, token: token}, detail: "all: is not known"},
		{request: request{method: "DELETE", path: multilocks + "?names=a", token: token}, detail: "names: belongs in the JSON body"},
	} {
		r.status, r.code = 400, session.CodeInvalid
		rows = append(rows, r)
	}
	unknown := strings.Repeat("A", 43)
	rows = append(rows,
		badRequest{request{method: "DELETE", path: multilocks}, 401, session.CodeNoSession, "POST /v1/sessions"},
		badRequest{request{method: "DELETE", path: multilocks, token: unknown}, 401, session.CodeNoSession, ""},
		badRequest{request{method: "POST", path: multilocks, body: `{"names":["a"]}`, token: unknown}, 401, session.CodeNoSession, ""},
		badRequest{request{method: "DELETE", path: multilocks, body: `{"names":["a"]}`, token: token}, 403, session.CodeNotOwner, "does not hold"},
		badRequest{request{method: "PUT", path: multilocks, body: `{"names":["a"]}`}, 405, codeMethodNotAllowed, "PUT"},
	)
	for _, method := range []string{"POST", "DELETE"} {
		r := request{method: method, path: multilocks, body: `{"names":["a"]}`, token: token, header: http.Header{"Idempotency-Key": {"a b"}}}
		rows = append(rows, badRequest{r, 400, session.CodeInvalid, "Idempotency-Key: "})
	}
	g.refuseAll(rows)
}
