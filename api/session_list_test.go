package api

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

// summaries is a page of sessions.
type summaries struct {
	Items []summary
	Next  string
}

func (g *gateway) sessions(query, token string) summaries {
	g.t.Helper()
	return into[summaries](g.t, g.must(200, request{method: "GET", path: "/v1/sessions" + query, token: token}))
}

func TestListSessions(t *testing.T) {
	g := newGateway(t, session.Config{}, byToken)
	jobs := into[sessionInfo](t, g.must(201, request{
		method: "POST", path: "/v1/sessions", unix: true, body: `{"name":"jobs","meta":{"team":"storage"},"keepalive":"2m","max_hold":"1h"}`,
	}))
	g.acquire("a", jobs.Token)
	g.acquire("b", "")
	a := g.must(200, request{method: "GET", path: "/v1/sessions", token: "sesame"})
	if strings.Contains(a.body, jobs.Token) {
		t.Error("the list has a token in it")
	}
	all := into[summaries](t, a)
	if len(all.Items) != 2 || all.Next != "" {
		t.Fatalf("sessions = %+v, want two and no more", all)
	}
	i := slices.IndexFunc(all.Items, func(s summary) bool { return s.ID == jobs.ID })
	s, anonymous := all.Items[i], all.Items[1-i]
	if s.Name != "jobs" || s.Meta["team"] != "storage" || s.UUID != jobs.UUID || s.Since.IsZero() || s.PID == 0 || s.UID == nil || s.MaxHoldMS != 3600000 {
		t.Errorf("session = %+v, want who it is", s)
	}
	if s.Life != "keepalive" || s.KeepaliveMS != 120000 || s.KeepaliveLeftMS == nil || *s.KeepaliveLeftMS <= 0 || *s.KeepaliveLeftMS > 120000 {
		t.Errorf("session = %+v, want life keepalive with some time left", s)
	}
	if s.Holds != 1 || !slices.Equal(s.Locks, []string{"a"}) || s.Waits != 0 || s.Queues == nil {
		t.Errorf("session = %+v, want a held and nothing waited for", s)
	}
	if anonymous.Life != "max_hold" || anonymous.UID != nil || anonymous.KeepaliveLeftMS != nil || !slices.Equal(anonymous.Locks, []string{"b"}) {
		t.Errorf("session = %+v, want life max_hold, no uid, b held", anonymous)
	}
	if got := g.sessions("?prefix=jo", "sesame"); len(got.Items) != 1 || got.Items[0].ID != jobs.ID {
		t.Errorf("with a prefix: %+v, want jobs alone", got)
	}
	first := g.sessions("?limit=1", "sesame")
	second := g.sessions("?limit=1&cursor="+first.Next, "sesame")
	if len(first.Items) != 1 || len(second.Items) != 1 || second.Next != "" || first.Items[0].ID >= second.Items[0].ID {
		t.Errorf("pages %+v, %+v, want one session on each, in order", first, second)
	}
}

func TestListSessionsRefused(t *testing.T) {
	g := newGateway(t, session.Config{}, byToken)
	token := g.open()
	for _, who := range []string{"", "nonsense", token} {
		refused(t, g.do(request{method: "GET", path: "/v1/sessions", token: who}), 403, access.CodeForbidden)
	}
	var rows []badRequest
	for query, detail := range map[string]string{
		"limit=0": "limit: ", "limit=1001": "limit: ", "cursor=%00": "cursor: ", "cursor=" + strings.Repeat("x", 256): "cursor: is 256 bytes",
		"prefix=" + strings.Repeat("x", 257): "prefix: is 257 bytes", "name=a": "name: is not known here",
	} {
		rows = append(rows, badRequest{request{method: "GET", path: "/v1/sessions?" + query, token: "sesame"}, 400, session.CodeInvalid, detail})
	}
	g.refuseAll(rows)
}

// Who administers some names is told of no other, and ends no session: it may hold
// others, too.
func TestListSessionsOfSomeNames(t *testing.T) {
	control, err := access.New(access.Config{AdminToken: "sesame", Rules: []access.Rule{
		{Who: []string{"anyone"}, May: []string{"lock"}, Locks: []string{"*"}},
		{Who: []string{"loopback"}, May: []string{"admin"}, Locks: []string{"mine/*"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	g := newGateway(t, session.Config{}, func(c *Config) { c.Access = control })
	token := g.open()
	g.acquire("mine%2Fa", token)
	g.acquire("secret", token)
	g.acquire("secret2", "")
	got := g.sessions("", "")
	if len(got.Items) != 1 || got.Items[0].Holds != 1 || !slices.Equal(got.Items[0].Locks, []string{"mine/a"}) {
		t.Fatalf("sessions = %+v, want the one of mine/a, and no other name", got)
	}
	if all := g.sessions("", "sesame"); len(all.Items) != 2 {
		t.Errorf("the administrator of all sees %d sessions, want 2", len(all.Items))
	}
	refused(t, g.do(request{method: "DELETE", path: "/v1/sessions/" + got.Items[0].ID}), 403, access.CodeForbidden)
	if g.state("secret").State != session.StateHeld {
		t.Error("the session was ended")
	}
}

func TestKillSession(t *testing.T) {
	g := newGateway(t, session.Config{}, byToken)
	token := g.open()
	g.acquire("a", token)
	hold := g.stream(request{method: "POST", path: "/v1/locks/b/hold", token: token})
	next[lock](hold, "acquired", "Lock")
	id := into[sessionInfo](t, g.must(200, request{method: "GET", path: "/v1/sessions/self", token: token})).ID
	kill := func(id, token string) request {
		return request{method: "DELETE", path: "/v1/sessions/" + id, token: token}
	}
	for _, who := range []string{"", "nonsense", token} {
		refused(t, g.do(kill(id, who)), 403, access.CodeForbidden)
	}
	for _, other := range []string{"nobody", id + "0", "%00", strings.Repeat("x", 300), "*"} {
		refused(t, g.do(kill(other, "sesame")), 404, codeNotFound)
	}
	refused(t, g.do(kill(id+"?force=true", "sesame")), 400, session.CodeInvalid)
	g.must(200, request{method: "GET", path: "/v1/sessions/self", token: token})
	r := into[struct{ Released []string }](t, g.must(200, kill(id, "sesame")))
	if slices.Sort(r.Released); !slices.Equal(r.Released, []string{"a", "b"}) {
		t.Errorf("released = %q, want a and b", r.Released)
	}
	if e := next[eventData](hold, "lost", "Event"); e.Reason != "session_ended" {
		t.Errorf("lost = %+v, want session_ended", e)
	}
	hold.end()
	p := refused(t, g.do(request{method: "GET", path: "/v1/sessions/self", token: token}), 401, session.CodeSessionEnded)
	if !strings.Contains(p.Detail, "administrator") {
		t.Errorf("detail = %q, want who did it", p.Detail)
	}
	refused(t, g.do(kill(id, "sesame")), 404, codeNotFound)
	g.acquire("a", "")
}

func TestKillSessionWithoutStore(t *testing.T) {
	g := newGateway(t, session.Config{Timeout: 300 * time.Millisecond}, byToken)
	token := g.open()
	g.acquire("a", token)
	id := g.sessions("", "sesame").Items[0].ID
	g.store.down.Store(true)
	r := into[releasing](t, g.must(202, request{method: "DELETE", path: fmt.Sprintf("/v1/sessions/%s", id), token: "sesame"}))
	if r.State != "releasing" || r.FreeByMS <= 0 || r.FreeByMS > 30000 {
		t.Errorf("answer = %+v, want releasing, free within the ttl", r)
	}
}

// What DELETE /v1/sessions?user= does is what an administrator needs against somebody who
// has opened many: all of that user's end, and nobody else's.
func TestKillUser(t *testing.T) {
	g := newGateway(t, session.Config{}, byToken)
	open := func() string {
		return into[sessionInfo](t, g.must(201, request{method: "POST", path: "/v1/sessions", unix: true, body: `{"keepalive":"1h"}`})).Token
	}
	one, two := open(), open()
	_, of, err := g.m.Open(session.Options{Keepalive: time.Hour, User: "token:ci"})
	if err != nil {
		t.Fatal(err)
	}
	other := of.Secret()
	g.acquire("a", one)
	g.acquire("b", other)
	user := fmt.Sprintf("user:%d", os.Getuid())
	kill := func(query, token string) request {
		return request{method: "DELETE", path: "/v1/sessions" + query, token: token}
	}
	for _, who := range []string{"", "nonsense", one} {
		refused(t, g.do(kill("?user="+user, who)), 403, access.CodeForbidden)
	}
	for _, query := range []string{"", "?user=", "?user=root", "?user=user:", "?user=user:root", "?user=user:-1", "?user=group:1", "?user=" + user + "&user=unknown", "?user=" + user + "&force=true"} {
		refused(t, g.do(kill(query, "sesame")), 400, session.CodeInvalid)
	}
	type ended struct {
		Sessions int
		Released []string
	}
	if e := into[ended](t, g.must(200, kill("?user="+user, "sesame"))); e.Sessions != 2 || !slices.Equal(e.Released, []string{"a"}) {
		t.Errorf("ended %+v, want two sessions and a", e)
	}
	for _, token := range []string{one, two} {
		refused(t, g.do(request{method: "GET", path: "/v1/sessions/self", token: token}), 401, session.CodeSessionEnded)
	}
	g.must(200, request{method: "GET", path: "/v1/sessions/self", token: other})
	if e := into[ended](t, g.must(200, kill("?user="+user, "sesame"))); e.Sessions != 0 || e.Released == nil {
		t.Errorf("once more: %+v, want nothing ended", e)
	}
	if e := into[ended](t, g.must(200, kill("?user=token:ci", "sesame"))); e.Sessions != 1 || !slices.Equal(e.Released, []string{"b"}) {
		t.Errorf("ended %+v, want the one of the access token, and b", e)
	}
}

func TestKillUserWithoutStore(t *testing.T) {
	g := newGateway(t, session.Config{Timeout: 300 * time.Millisecond}, byToken)
	g.acquire("a", g.open())
	g.store.down.Store(true)
	r := into[releasing](t, g.must(202, request{method: "DELETE", path: fmt.Sprintf("/v1/sessions?user=user:%d", os.Getuid()), token: "sesame"}))
	if r.State != "releasing" || r.FreeByMS <= 0 || r.FreeByMS > 30000 {
		t.Errorf("answer = %+v, want releasing, free within the ttl", r)
	}
}
