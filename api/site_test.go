package api

import (
	"net"
	"net/http"
	"net/url"
	"strings"
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

func TestAllowed(t *testing.T) {
	h := New(Config{AllowedHosts: []string{"Gateway.Example", "10.0.0.7", "[2001:db8::7]"}})
	for _, host := range []string{
		"localhost", "LocalHost", "localhost:7420", "127.0.0.1", "127.0.0.1:80", "127.255.3.4:7420", "[::1]", "[::1]:7420",
		"gateway.example", "GATEWAY.example:443", "10.0.0.7:7420", "[2001:db8::7]", "[2001:db8::7]:7420",
	} {
		if !h.allowed(host) {
			t.Errorf("allowed(%q) = false, want true", host)
		}
	}
	for _, host := range []string{
		"", ":", ":7420", "evil.example", "localhost.evil.example", "evil.localhost", "localhost.", "0.0.0.0", "0.0.0.0:7420", "0",
		"127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::]", "[::ffff:127.0.0.1]", "[::1%lo]", "::1", "128.0.0.1", "10.0.0.8",
		"localhost:http", "localhost:", "localhost:70000", "localhost:1:2", "[::1", "[::1]x", "[localhost]", "user@localhost", "localhost/",
		"169.254.169.254", "gateway.example.evil",
	} {
		if h.allowed(host) {
			t.Errorf("allowed(%q) = true, want false", host)
		}
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
		"Range": {"bytes=0-1"}, "If-Match": {`"1"`}, "Cookie": {"token=x"}, "X-Forwarded-For": {"evil.example"},
		"Lockgw-Request-Id": {"chosen"}, "X-Http-Method-Override": {"DELETE"}, "Expect": {""},
	}})
	if got := a.header.Get(requestIDHeader); got == "chosen" || a.header.Get("Set-Cookie") != "" {
		t.Errorf("request id = %q, Set-Cookie = %q, want one of the gateway's own and none", got, a.header.Get("Set-Cookie"))
	}
}

// No Host other than those of the table is let in, however it is written.
func FuzzAllowed(f *testing.F) {
	for _, s := range []string{"localhost:7420", "127.0.0.1", "[::1]:1", "[::ffff:127.0.0.1]", "evil.example", "[::1%lo]", ":", "[", "]:1"} {
		f.Add(s)
	}
	h := New(Config{})
	f.Fuzz(func(t *testing.T, host string) {
		if !h.allowed(host) {
			return
		}
		u, err := url.Parse("http://" + host + "/")
		if err != nil {
			t.Fatalf("allowed(%q), which is no host: %v", host, err)
		}
		name := strings.ToLower(u.Hostname())
		if ip := net.ParseIP(name); name != "localhost" && (ip == nil || !ip.IsLoopback()) || u.User != nil {
			t.Errorf("allowed(%q), whose name is %q", host, name)
		}
	})
}
