package api

import (
	"net/http"
	"testing"

	"github.com/lockgw/lockgw/session"
)

func TestHosts(t *testing.T) {
	g := newGateway(t, session.Config{}, func(c *Config) { c.AllowedHosts = []string{"Gateway.Example", "10.0.0.7", "[2001:db8::7]"} })
	for _, host := range []string{"localhost:7420", "127.0.0.1", "[::1]:7420", "GATEWAY.example"} {
		g.must(200, request{method: "GET", path: "/livez", host: host})
	}
	var rows []badRequest
	for _, host := range []string{"evil.example", "evil.example:7420", "0.0.0.0", "2130706433", "lockgw"} {
		for _, path := range []string{"/v1/locks/a", "/nothing", "/livez"} {
			rows = append(rows, badRequest{request{method: "PUT", path: path, host: host}, 421, codeHostNotAllowed, ""})
		}
	}
	g.refuseAll(rows)
	// on a Unix socket the Host means nothing
	for _, host := range []string{"lockgw", "evil.example", "0.0.0.0"} {
		g.must(200, request{method: "GET", path: "/livez", host: host, unix: true})
	}
}

func TestOtherSites(t *testing.T) {
	g := newGateway(t, session.Config{})
	own := "http://localhost:7420"
	for _, header := range []http.Header{
		{"Origin": {own}}, {"Referer": {own + "/docs"}}, {"Origin": {own}, "Sec-Fetch-Site": {"same-origin"}},
		{"Sec-Fetch-Site": {"none"}}, {"Referer": {"http://LOCALHOST:7420/"}},
	} {
		for _, unix := range []bool{false, true} {
			if a := g.do(request{method: "GET", path: "/livez", host: "localhost:7420", header: header, unix: unix}); a.status != 200 {
				t.Errorf("%v: status = %d, want 200", header, a.status)
			}
		}
	}
	var rows []badRequest
	for _, header := range []http.Header{
		{"Origin": {"http://evil.example"}}, {"Origin": {"null"}}, {"Origin": {""}}, {"Origin": {"http://localhost"}},
		{"Origin": {"http://localhost:3000"}}, {"Origin": {"https://localhost:7420"}}, {"Origin": {own, "http://evil.example"}},
		{"Origin": {"http://localhost:7420.evil.example"}}, {"Referer": {"http://evil.example/" + own}}, {"Referer": {"http://localhost:7420@evil.example/"}},
		{"Origin": {own}, "Referer": {"http://evil.example/"}}, {"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}},
		{"Origin": {own}, "Sec-Fetch-Site": {"cross-site"}}, {"Origin": {"%zz"}}, {"Origin": {"chrome-extension://localhost:7420"}},
	} {
		for _, unix := range []bool{false, true} {
			for _, r := range []request{
				{method: "PUT", path: "/v1/locks/a"}, {method: "GET", path: "/v1/locks"}, {method: "OPTIONS", path: "/v1/locks/a"},
				{method: "POST", path: "/v1/locks/a/hold"},
			} {
				r.host, r.header, r.unix = "localhost:7420", header, unix
				rows = append(rows, badRequest{r, 403, codeCrossOrigin, ""})
			}
		}
	}
	g.refuseAll(rows)
}

func TestUpgrade(t *testing.T) {
	g := newGateway(t, session.Config{})
	r := request{method: "GET", path: "/v1/sessions/self/events"}
	r.header = http.Header{"Upgrade": {"WebSocket"}, "Connection": {"Upgrade"}}
	g.refuseAll([]badRequest{{r, 400, session.CodeInvalid, "WebSocket"}})
}

// What a proxy or a browser adds besides has no effect.
func TestIgnoredHeaders(t *testing.T) {
	g := newGateway(t, session.Config{})
	a := g.must(201, request{method: "PUT", path: "/v1/locks/a", header: http.Header{
		"Range": {"bytes=0-1"}, "Cookie": {"token=x"}, "X-Forwarded-For": {"evil.example"},
		"Lockgw-Request-Id": {"chosen"}, "X-Http-Method-Override": {"DELETE"}, "Expect": {""},
	}})
	if got := a.header.Get(requestIDHeader); got == "chosen" || a.header.Get("Set-Cookie") != "" {
		t.Errorf("request id = %q, Set-Cookie = %q, want one of the gateway's own and none", got, a.header.Get("Set-Cookie"))
	}
}
