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
