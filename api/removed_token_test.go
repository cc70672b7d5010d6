package api

import (
	"net/http"
	"testing"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
)

// Who comes over the network with the session of an access token that was removed keeps what
// it holds and gives it back, and gets nothing new.
func TestRemovedToken(t *testing.T) {
	config := robotConfig(t)
	config.Rules = nil
	control, with := withControl(t, config)
	g := newGateway(t, session.Config{}, with)
	far := g.overNetwork(Config{Access: control, Metrics: http.NotFoundHandler()})
	local := g.acquire("local", "").Token
	token := into[sessionInfo](t, far.must(201, request{method: "POST", path: "/v1/sessions", token: robot})).Token
	for _, name := range []string{"a", "b"} {
		far.must(201, request{method: "PUT", path: "/v1/locks/" + name, token: token})
	}
	if err := control.Set(access.Config{AdminToken: boss}); err != nil {
		t.Fatal(err)
	}
	for _, r := range []request{
		{method: "PUT", path: "/v1/locks/a"}, {method: "PUT", path: "/v1/locks/c"}, {method: "POST", path: "/v1/locks/c/hold"},
		{method: "GET", path: "/v1/locks/a"}, {method: "GET", path: "/v1/locks"}, {method: "GET", path: "/readyz"}, {method: "GET", path: "/metrics"},
		{method: "POST", path: "/v1/sessions"}, {method: "POST", path: "/v1/multilocks", body: `{"names":["c"]}`},
	} {
		r.token = token
		refused(t, far.do(r), 401, session.CodeNoSession)
	}
	refused(t, far.do(request{method: "DELETE", path: "/v1/locks/a?force=true", token: token, header: http.Header{"If-Match": {`"1"`}}}), 403, access.CodeForbidden)
	refused(t, far.do(request{method: "DELETE", path: "/v1/locks/local", token: local}), 401, session.CodeNoSession)
	refused(t, far.do(request{method: "DELETE", path: "/v1/locks/a", token: robot}), 401, session.CodeNoSession)
	far.must(200, request{method: "POST", path: "/v1/sessions/self/keepalive", token: token})
	far.must(200, request{method: "POST", path: "/v1/locks/a/renew", token: token})
	far.must(200, request{method: "DELETE", path: "/v1/locks/a", token: token})
	far.must(200, request{method: "DELETE", path: "/v1/multilocks", token: token, body: `{"names":["b"]}`})
	far.must(200, request{method: "DELETE", path: "/v1/sessions/self", token: token})
}

// A token that was replaced, because somebody has it who should not, is refused as one that was
// removed, though its name has another: also to the sessions that were opened with it.
func TestReplacedToken(t *testing.T) {
	config := robotConfig(t)
	control, with := withControl(t, config)
	g := newGateway(t, session.Config{}, with)
	far := g.overNetwork(Config{Access: control})
	token := into[sessionInfo](t, far.must(201, request{method: "POST", path: "/v1/sessions", token: robot})).Token
	far.must(201, request{method: "PUT", path: "/v1/locks/mine-a", token: token})
	const next = "the-next-of-the-robot"
	var err error
	if config.Tokens, err = access.ParseTokens([]byte("robot " + next)); err != nil {
		t.Fatal(err)
	}
	if err := control.Set(config); err != nil {
		t.Fatal(err)
	}
	refused(t, far.do(request{method: "PUT", path: "/v1/locks/mine-b", token: token}), 401, session.CodeNoSession)
	refused(t, g.do(request{method: "PUT", path: "/v1/locks/mine-b", token: token}), 403, access.CodeForbidden)
	far.must(200, request{method: "POST", path: "/v1/locks/mine-a/renew", token: token})
	far.must(200, request{method: "DELETE", path: "/v1/locks/mine-a", token: token})
	far.must(201, request{method: "PUT", path: "/v1/locks/mine-b", token: next})
}
