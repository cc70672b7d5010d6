package api

import (
	"context"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

const (
	robot = "a-token-of-the-robot"
	boss  = "the-token-of-admins"
)

func robotConfig(t *testing.T) access.Config {
	t.Helper()
	tokens, err := access.ParseTokens([]byte("robot " + robot + "\nteam a-token-of-the-team"))
	if err != nil {
		t.Fatal(err)
	}
	return access.Config{Tokens: tokens, AdminToken: boss, Rules: []access.Rule{
		{Who: []string{"token:robot"}, May: []string{"lock"}, Locks: []string{"mine-*"}},
		{Who: []string{"token:robot"}, May: []string{"inspect"}, Locks: []string{"shown"}},
		{Who: []string{"token:team"}, May: []string{"admin"}, Locks: []string{"team-*"}},
	}}
}

func withControl(t *testing.T, c access.Config) (*access.Control, func(*Config)) {
	t.Helper()
	control, err := access.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return control, func(cfg *Config) { cfg.Access = control }
}

// from another machine, as far as the server can tell.
type networkListener struct{ net.Listener }

type networkConn struct{ net.Conn }

func (l networkListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return networkConn{c}, err
}

func (networkConn) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7420} }

// overNetwork has g served once more, to callers from elsewhere.
func (g *gateway) overNetwork(c Config) *gateway {
	g.t.Helper()
	c.Manager = g.m
	srv := NewServer(New(c))
	ln := listen(g.t, "tcp", "127.0.0.1:0")
	done := make(chan error, 1)
	go func() { done <- srv.Serve(networkListener{ln}) }()
	g.t.Cleanup(func() {
		srv.Close()
		<-done
	})
	other := *g
	other.tcp = ln.Addr().String()
	return &other
}

func TestRights(t *testing.T) {
	_, with := withControl(t, robotConfig(t))
	g := newGateway(t, session.Config{}, with)
	hold := func(name string) {
		s, _, err := g.m.Open(session.Options{})
		if err == nil {
			_, err = s.Acquire(t.Context(), name, session.Acquire{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	hold("hidden")
	hold("shown")
	mine := into[lock](t, g.must(201, request{method: "PUT", path: "/v1/locks/mine-a", token: robot}))
	for _, r := range []request{
		{method: "PUT", path: "/v1/locks/hidden"},
		{method: "PUT", path: "/v1/locks/hidden?wait=1m"},
		{method: "PUT", path: "/v1/locks/shown"},
		{method: "POST", path: "/v1/locks/shown/hold"},
		{method: "GET", path: "/v1/locks/hidden"},
		{method: "GET", path: "/v1/locks/hidden/check?fence=1"},
		{method: "GET", path: "/v1/locks/hidden/history"},
		{method: "POST", path: "/v1/multilocks", body: `{"names":["mine-b","shown"]}`},
		{method: "DELETE", path: "/v1/locks/mine-a?force=true", header: http.Header{"If-Match": {`"1"`}}},
		{method: "GET", path: "/v1/events"},
		{method: "POST", path: "/v1/admin/reload"}, {method: "GET", path: "/v1/admin/doctor"},
	} {
		for _, token := range []string{robot, mine.Token, ""} {
			r.token = token
			if p := refused(t, g.do(r), 403, access.CodeForbidden); strings.Contains(p.Detail, "team") {
				t.Errorf("%s %s: the detail %q tells of a rule for others", r.method, r.path, p.Detail)
			}
		}
	}
	p := refused(t, g.do(request{method: "PUT", path: "/v1/locks/shown", token: robot}), 403, access.CodeForbidden)
	const want = `you (token "robot") may not lock it; of access.rules, rule 1 allows lock of mine-*; rule 2 allows inspect of shown`
	if p.Detail != want || p.Lock != "shown" {
		t.Errorf("detail, lock = %q, %q, want %q, shown", p.Detail, p.Lock, want)
	}
	if st := into[status](t, g.must(200, request{method: "GET", path: "/v1/locks/shown", token: mine.Token})); st.State != session.StateHeld {
		t.Errorf("shown = %+v, want held", st)
	}
	refused(t, g.do(request{method: "PUT", path: "/v1/locks/a", token: boss}), 401, session.CodeNoSession) // it is no caller's
}

// Who has the token of a session gives back what the rules would no more let it take.
func TestReleaseNeedsNoRight(t *testing.T) {
	control, with := withControl(t, robotConfig(t))
	g := newGateway(t, session.Config{}, with)
	l := into[lock](t, g.must(201, request{method: "PUT", path: "/v1/locks/mine-a", token: robot}))
	if err := control.Set(access.Config{Rules: []access.Rule{{Who: []string{"user:1"}, May: []string{"lock"}, Locks: []string{"*"}}}}); err != nil {
		t.Fatal(err)
	}
	refused(t, g.do(request{method: "PUT", path: "/v1/locks/mine-a", token: l.Token}), 403, access.CodeForbidden)
	g.must(200, request{method: "POST", path: "/v1/locks/mine-a/renew", token: l.Token})
	g.must(200, request{method: "DELETE", path: "/v1/locks/mine-a", token: l.Token})
}

// A list has only what its caller may see, and its cursor does not tell the rest.
func TestListIsFiltered(t *testing.T) {
	_, with := withControl(t, robotConfig(t))
	g := newGateway(t, session.Config{}, with)
	s, _, err := g.m.Open(session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hidden-1", "mine-1", "nobodys", "shown", "zebra"} {
		if _, err := s.Acquire(t.Context(), name, session.Acquire{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		token string
		want  []string
	}{
		{robot, []string{"mine-1", "shown"}},
		{"", nil},
		{boss, []string{"hidden-1", "mine-1", "nobodys", "shown", "zebra"}},
	} {
		var got []string
		for cursor, pages := "", 0; pages < 10; pages++ {
			p := into[statusPage](t, g.must(200, request{method: "GET", path: "/v1/locks?limit=1&cursor=" + cursor, token: tt.token}))
			for _, st := range p.Items {
				got = append(got, st.Name)
			}
			if cursor = p.Next; cursor == "" {
				break
			}
			if tt.token == boss {
				continue
			}
			if place, err := base64.RawURLEncoding.DecodeString(cursor); err != nil || strings.Contains(string(place), "hidden") {
				t.Errorf("%q: the cursor %q tells a name", tt.token, place)
			}
			if p.Counts.Locks != len(tt.want) {
				t.Errorf("%q is told of %d locks, want %d", tt.token, p.Counts.Locks, len(tt.want))
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q sees %q, want %q", tt.token, got, tt.want)
		}
	}
	refused(t, g.do(request{method: "GET", path: "/v1/locks?cursor=AAAA", token: boss}), 400, session.CodeInvalid)
}

// Who administers some names is told of those.
func TestEventsAreFiltered(t *testing.T) {
	_, with := withControl(t, robotConfig(t))
	g := newGateway(t, session.Config{}, with)
	s := g.stream(request{method: "GET", path: "/v1/events", token: "a-token-of-the-team"})
	defer s.hangUp()
	g.must(201, request{method: "PUT", path: "/v1/locks/mine-a", token: robot})
	g.must(201, request{method: "PUT", path: "/v1/locks/team-a", token: "a-token-of-the-team"})
	s.wantAcquired("team-a")
}

func TestOverTheNetwork(t *testing.T) {
	config := robotConfig(t)
	config.Rules = nil
	control, with := withControl(t, config)
	g := newGateway(t, session.Config{}, with)
	far := g.overNetwork(Config{Access: control, Metrics: http.NotFoundHandler()})
	local := g.acquire("local", "")
	for _, r := range []request{
		{method: "PUT", path: "/v1/locks/a"},
		{method: "PUT", path: "/v1/locks/a", token: "nonsense"},
		{method: "DELETE", path: "/v1/locks/local", token: local.Token}, // of somebody who never said who it was
		{method: "GET", path: "/v1/locks"},
		{method: "POST", path: "/v1/sessions"},
		{method: "GET", path: "/v1/events"},
		{method: "GET", path: "/readyz"},
		{method: "GET", path: "/metrics"},
	} {
		p := refused(t, far.do(r), 401, session.CodeNoSession)
		if !strings.Contains(p.Detail, "answers only those whom it knows") {
			t.Errorf("%s %s: detail %q", r.method, r.path, p.Detail)
		}
	}
	for _, path := range []string{"/livez", "/version", "/", "/docs", "/openapi.yaml"} {
		far.must(200, request{method: "GET", path: path})
	}
	for token, told := range map[string]bool{"": false, robot: true} { // where the store is
		if a := far.must(200, request{method: "GET", path: "/version", token: token}); strings.Contains(a.body, `"store"`) != told {
			t.Errorf("/version with the token %q = %s, want the store told: %v", token, a.body, told)
		}
	}
	l := into[lock](t, far.must(201, request{method: "PUT", path: "/v1/locks/a", token: robot}))
	far.must(200, request{method: "GET", path: "/v1/locks/a", token: l.Token})
	far.must(200, request{method: "DELETE", path: "/v1/locks/a", token: l.Token})
	far.must(200, request{method: "GET", path: "/v1/locks", token: boss})
	token := into[sessionInfo](t, far.must(201, request{method: "POST", path: "/v1/sessions", token: robot, body: `{"meta":{"a":"b"}}`})).Token
	far.must(200, request{method: "DELETE", path: "/v1/sessions/self", token: token})
	refused(t, far.do(request{method: "GET", path: "/v1/sessions/self", token: token}), 401, session.CodeSessionEnded)
	refused(t, far.do(request{method: "POST", path: "/v1/sessions", token: boss}), 403, access.CodeForbidden)
	refused(t, far.do(request{method: "POST", path: "/v1/sessions", token: robot, body: `{"meta":{"lockgw:token":"team"}}`}), 400, session.CodeInvalid)
}

// A key is of the caller that sent it: another one does not get its session by it.
func TestKeysOfCallers(t *testing.T) {
	config := robotConfig(t)
	config.Rules = nil
	_, with := withControl(t, config)
	g := newGateway(t, session.Config{}, with)
	keyed := request{method: "PUT", path: "/v1/locks/a", token: robot, header: http.Header{"Idempotency-Key": {"k"}}}
	first := into[lock](t, g.must(201, keyed))
	if again := into[lock](t, g.must(201, keyed)); again.Token != first.Token {
		t.Error("a repeat got another session")
	}
	keyed.token = "a-token-of-the-team"
	refused(t, g.do(keyed), 423, session.CodeLocked)
}

func TestRate(t *testing.T) {
	_, with := withControl(t, access.Config{Rate: access.Rate{PerSecond: 1, Burst: 3}})
	g := newGateway(t, session.Config{}, with)
	token := g.open()
	g.acquire("a", token)
	var a answer
	until(t, "a refusal", func() bool {
		a = g.do(request{method: "GET", path: "/v1/locks/a", token: token})
		return a.status != 200
	})
	p := refused(t, a, 429, session.CodeTooManyHolds)
	if a.header.Get("Retry-After") != "1" || p.RetryAfterMS < 1 || p.RetryAfterMS > 1000 {
		t.Errorf("Retry-After, retry_after_ms = %s, %d, want 1 and up to 1000", a.header.Get("Retry-After"), p.RetryAfterMS)
	}
	g.must(200, request{method: "POST", path: "/v1/locks/a/renew", token: token})
	nothing := func(path, body string) func() bool {
		return func() bool {
			return g.do(request{method: "DELETE", path: path, token: token, body: body}).status == 429
		}
	}
	until(t, "a release of nothing is refused", nothing("/v1/locks/b", ""))
	until(t, "several of nothing are refused", nothing(multilocks, `{"names":["b","c"]}`))
	g.must(200, request{method: "DELETE", path: "/v1/locks/a", token: token})
	until(t, "a repeated release is refused", nothing("/v1/locks/a", ""))
	until(t, "a session of a process is refused before the process is looked at", func() bool {
		return g.do(request{method: "POST", path: "/v1/sessions", token: token, body: `{"bind":{"pid":2147483647}}`}).status == 429
	})
}

func TestReload(t *testing.T) {
	var bad error
	g := newGateway(t, session.Config{}, byToken, func(c *Config) {
		c.Reload = func() ([]string, error) { return []string{"lock.ttl"}, bad }
	})
	r := request{method: "POST", path: "/v1/admin/reload"}
	refused(t, g.do(r), 403, access.CodeForbidden)
	r.token = "sesame"
	if a := g.must(200, r); a.body != `{"needs_restart":["lock.ttl"]}`+"\n" {
		t.Errorf("body = %q", a.body)
	}
	bad = errors.New("lock.ttl: it is wrong")
	if p := refused(t, g.do(r), 400, session.CodeInvalid); !strings.Contains(p.Detail, bad.Error()) {
		t.Errorf("detail = %q, want %q in it", p.Detail, bad)
	}
	refused(t, newGateway(t, session.Config{}, byToken).do(r), 501, session.CodeUnsupported)
}

func TestExamine(t *testing.T) {
	found := map[string]any{"node": "host-a", "config": map[string]any{}, "findings": []any{map[string]any{"level": "ok", "check": "clock", "detail": "right"}}}
	g := newGateway(t, session.Config{}, byToken, func(c *Config) { c.Examine = func(context.Context) any { return found } })
	r := request{method: "GET", path: "/v1/admin/doctor"}
	refused(t, g.do(r), 403, access.CodeForbidden)
	r.token = "sesame"
	if a := g.must(200, r); !strings.Contains(a.body, `"check":"clock"`) {
		t.Errorf("body = %s, want what was found", a.body)
	}
	refused(t, g.do(request{method: "GET", path: "/v1/admin/doctor?a=b", token: "sesame"}), 400, session.CodeInvalid)
	refused(t, newGateway(t, session.Config{}, byToken).do(r), 501, session.CodeUnsupported)
}
