package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

// byToken has an administrator: whoever sends it, over whatever.
func byToken(c *Config) {
	control, err := access.New(access.Config{AdminToken: "sesame"})
	if err != nil {
		panic(err)
	}
	c.Access = control
}

func TestForceRelease(t *testing.T) {
	g := newGateway(t, session.Config{}, byToken)
	token := g.open()
	l := g.acquire("a", token)
	s := g.stream(request{method: "GET", path: "/v1/sessions/self/events", token: token})
	defer s.hangUp()
	force := func(token, fence string) request {
		r := request{method: "DELETE", path: "/v1/locks/a?force=true", token: token}
		if fence != "" {
			r.header = http.Header{"If-Match": {fence}}
		}
		return r
	}
	fence := fmt.Sprintf("%q", fmt.Sprint(l.Fence))
	for _, tt := range []struct {
		r      request
		status int
		code   session.Code
	}{
		{force("", fence), 403, access.CodeForbidden},
		{force("nonsense", fence), 403, access.CodeForbidden},
		{force(token, fence), 403, access.CodeForbidden}, // the holder is no administrator
		{force("sesame", ""), 400, session.CodeInvalid},
		{force("sesame", fmt.Sprint(l.Fence)), 400, session.CodeInvalid},
		{force("sesame", `"*"`), 400, session.CodeInvalid},
		{force("sesame", `W/"1"`), 400, session.CodeInvalid},
		{force("sesame", fmt.Sprintf(`"%d"`, l.Fence+1)), 412, session.CodeFenceMismatch},
	} {
		refused(t, g.do(tt.r), tt.status, tt.code)
	}
	by := func(owner string) request {
		r := force("sesame", fence)
		r.path += "&owner=" + url.QueryEscape(owner)
		return r
	}
	refused(t, g.do(by("")), 400, session.CodeInvalid)
	refused(t, g.do(by("u:1")), 412, session.CodeFenceMismatch)
	refused(t, g.do(by("a\x00b")), 400, session.CodeInvalid)
	refused(t, g.do(request{method: "DELETE", path: "/v1/locks/a?owner=u:1", token: token}), 400, session.CodeInvalid)
	if st := g.state("a"); st.State != session.StateHeld {
		t.Fatalf("state = %+v, want held still", st)
	}
	if got := into[released](t, g.must(200, by(string(l.Owner)))); !got.Released {
		t.Errorf("answer = %+v", got)
	}
	if e := next[eventData](s, "lost", "Event"); e.Reason != "broken" || e.Fence != l.Fence {
		t.Errorf("lost = %+v, want reason broken", e)
	}
	refused(t, g.do(request{method: "POST", path: "/v1/locks/a/renew", token: token}), 410, session.CodeLost)
	free := refused(t, g.do(force("sesame", fence)), 412, session.CodeFenceMismatch)
	if !strings.Contains(free.Detail, "the name is free") {
		t.Errorf("detail = %q, want that the name is free", free.Detail)
	}
	refused(t, g.do(force("sesame", "")), 400, session.CodeInvalid)
}

func TestAllEvents(t *testing.T) {
	g := newGateway(t, session.Config{}, byToken)
	refused(t, g.do(request{method: "GET", path: "/v1/events"}), 403, access.CodeForbidden)
	refused(t, g.do(request{method: "GET", path: "/v1/events", body: "x", header: http.Header{"Content-Type": {"text/plain"}}}), 415, codeMediaType)
	s := g.stream(request{method: "GET", path: "/v1/events", token: "sesame"})
	defer s.hangUp()
	for _, name := range []string{"a", "b"} { // each of a session of its own
		l := g.acquire(name, g.open())
		if e := next[eventData](s, "acquired", "Event"); e.Lock != name || e.Fence != l.Fence {
			t.Errorf("event = %+v, want of %s", e, name)
		}
	}
}
