package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/session"
)

// unchanged fails if f leaves a trace: a session, a hold, a question to the store.
func (g *gateway) unchanged(f func()) {
	g.t.Helper()
	stats, asked := g.m.Stats(), g.store.asked.Load()
	f()
	if got := g.m.Stats(); got != stats {
		g.t.Errorf("stats = %+v, want %+v: something was changed", got, stats)
	}
	if got := g.store.asked.Load(); got != asked {
		g.t.Errorf("the store was asked %d times, want 0", got-asked)
	}
}

// badRequest is one row: what is sent, and what the answer has to be.
type badRequest struct {
	request
	status int
	code   session.Code
	detail string // part of it
}

func (g *gateway) refuseAll(rows []badRequest) {
	g.t.Helper()
	for _, r := range rows {
		g.unchanged(func() {
			g.t.Helper()
			a := g.do(r.request)
			p := into[problem](g.t, a)
			if a.status != r.status || p.Code != r.code || !strings.Contains(p.Detail, r.detail) {
				g.t.Errorf("%s %s %s: %d %s %q, want %d %s %q",
					r.method, r.path, r.body, a.status, p.Code, p.Detail, r.status, r.code, r.detail)
			}
		})
	}
}

func TestBadParameters(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	g.acquire("held?renew=false&ttl=1h", token) // so that no watchdog asks the store
	long := strings.Repeat("n", 257)
	var rows []badRequest
	for _, tt := range []struct{ query, detail string }{
		{"ttl=0", "ttl: "}, {"ttl=0s", "ttl: "}, {"ttl=-1", "ttl: "}, {"ttl=+1", "ttl: "}, {"ttl=0.5", "ttl: "},
		{"ttl=1ms", "ttl: "}, {"ttl=25h", "ttl: "}, {"ttl=9223372036854775808", "ttl: "}, {"ttl=1e309", "ttl: "},
		{"ttl=1e3", "ttl: "}, {"ttl=", "ttl: "}, {"ttl=NaN", "ttl: "}, {"ttl=0x10", "ttl: "}, {"ttl=1,5", "ttl: "},
		{"ttl=5&ttl=5", "ttl: is in the query more than once"}, {"wait=-1s", "wait: "}, {"wait=6m", "lock.max_wait"},
		{"wait=soon", "wait: "}, {"max_hold=0", "max_hold: "}, {"min_hold=-1", "min_hold: "}, {"min_hold=25h", "min_hold: "},
		{"max_hold=5s&min_hold=6s", "min_hold: "}, {"renew=yes", "renew: "}, {"renew=1", "renew: "}, {"renew", "renew: "},
		{"thread=0", "thread: "}, {"thread=", "thread: "}, {"thread=-1", "thread: "}, {"thread=%2B1", "thread: "},
		{"thread=1.0", "thread: "}, {"thread=9223372036854775808", "thread: "}, {"thread=a:1", "thread: "},
		{"thread=" + strings.Repeat("1", 65), "thread: "}, {"mode=exclusive&limit=2", "limit: does not go with mode=exclusive"},
		{"mode=shared&limit=2", "limit: does not go with a shared hold"}, {"limit=0", "limit: must be a decimal from 1 to 100000"}, {"limit=-1", "limit: "},
		{"mode=SHARED", "mode: "}, {"mode=", "mode: "}, {"bind=4411", "bind: "}, {"bind=pid:", "bind: "},
		{"bind=pid:0", "bind: "}, {"bind=pid:-1", "bind: "}, {"bind=pid:1", "bind: "}, {"note=" + long, "note: "},
		{"note=a%0Ab", "note: "}, {"note=%1B[2J", "note: "}, {"note=%FF", "note: "}, {"note=a%E2%80%AEb", "note: "}, {"TTL=5", "TTL: is not known"},
		{"tll=5", "known are bind, limit"}, {"=1", "is not known"}, {"ttl=%zz", "query: "}, {"ttl=5;wait=1", "query: "},
		{"force=true", "force: is not known"}, {strings.Repeat("x", 200) + "=1", `"...: is not known`},
	} {
		for _, r := range []request{{method: "PUT", path: "/v1/locks/a?"}, {method: "POST", path: "/v1/locks/a/hold?"}} {
			r.path += tt.query
			rows = append(rows, badRequest{r, 400, session.CodeInvalid, tt.detail})
		}
	}
	for _, r := range []badRequest{
		{request: request{method: "PUT", path: "/v1/locks/a?bind=pid:1", token: token, unix: true}, detail: "bind: belongs to the session"},
		{request: request{method: "PUT", path: "/v1/locks/a?bind=pid:1"}, detail: "Unix socket"},
		{request: request{method: "POST", path: "/v1/locks/held/renew?ttl=0", token: token}, detail: "ttl: "},
		{request: request{method: "POST", path: "/v1/locks/held/renew?ttl=25h", token: token}, detail: "ttl: "},
		{request: request{method: "POST", path: "/v1/locks/held/renew?wait=1", token: token}, detail: "wait: is not known"},
		{request: request{method: "DELETE", path: "/v1/locks/held?all=maybe", token: token}, detail: "all: "},
		{request: request{method: "DELETE", path: "/v1/locks/held?thread=0", token: token}, detail: "thread: "},
		{request: request{method: "DELETE", path: "/v1/locks/held?force=true&thread=1", token: token}, detail: "thread: does not go with force=true"},
		{request: request{method: "DELETE", path: "/v1/locks/held?force=1", token: token}, detail: "force: "},
		{request: request{method: "PUT", path: "/v1/locks/a", header: http.Header{"If-Match": {`"5"`}}}, detail: "If-Match: is not looked at here"},
		{request: request{method: "POST", path: "/v1/locks/held/renew", token: token, header: http.Header{"If-Match": {`"5"`}}}, detail: "If-Match: is not"},
		{request: request{method: "DELETE", path: "/v1/locks/held", token: token, header: http.Header{"If-None-Match": {"*"}}}, detail: "If-None-Match: is not"},
		{request: request{method: "DELETE", path: "/v1/locks/held", token: token, body: `{"all":true}`}, detail: "body: "},
		{request: request{method: "GET", path: "/v1/locks/held?verbose=1"}, detail: "verbose: is not known here; known are none"},
		{request: request{method: "GET", path: "/v1/locks/held/check"}, detail: "fence: is missing"},
		{request: request{method: "GET", path: "/v1/locks/held/check?fence=0"}, detail: "fence: "},
		{request: request{method: "GET", path: "/v1/locks/held/check?fence=-1"}, detail: "fence: "},
		{request: request{method: "GET", path: "/v1/locks/held/check?fence=9007199254740992"}, detail: "fence: "},
		{request: request{method: "GET", path: "/v1/locks?limit=0"}, detail: "limit: "},
		{request: request{method: "GET", path: "/v1/locks?limit=1001"}, detail: "limit: must be a decimal from 1 to 1000"},
		{request: request{method: "GET", path: "/v1/locks?state=lost"}, detail: "state: "},
		{request: request{method: "GET", path: "/v1/locks?prefix=" + long}, detail: "prefix: is 257 bytes long"},
		{request: request{method: "GET", path: "/v1/locks?prefix=a&prefix=b"}, detail: "prefix: "},
		{request: request{method: "GET", path: "/readyz?verbose=please"}, detail: "verbose: "},
		{request: request{method: "GET", path: "/livez?x"}, detail: "x: "},
		{request: request{method: "GET", path: "/version?x"}, detail: "x: "},
		{request: request{method: "GET", path: "/openapi.yaml?x"}, detail: "x: "},
		{request: request{method: "GET", path: "/v1/sessions/self?x", token: token}, detail: "x: "},
		{request: request{method: "POST", path: "/v1/sessions?ttl=5"}, detail: "ttl: belongs in the JSON body"},
	} {
		r.status, r.code = 400, session.CodeInvalid
		rows = append(rows, r)
	}
	g.refuseAll(rows)
}

func TestBadBodies(t *testing.T) {
	g := newGateway(t, session.Config{})
	var rows []badRequest
	for _, tt := range []struct{ body, detail string }{
		{" ", "ends too early"}, {"{", "ends too early"}, {`{"ttl":`, "ends too early"}, {`{"ttl":5,}`, "body: "},
		{`{"ttl":5} x`, "after the JSON"}, {`{"ttl":5}{"ttl":6}`, "after the JSON"}, {`{ttl:5}`, "body: "}, {"\ufeff{}", "body: "},
		{"5", "must be a JSON object"}, {"null", "must be a JSON object"}, {`["ttl"]`, "must be a JSON object"},
		{`{"tll":5}`, "tll: is not known"}, {`{"TTL":5}`, "TTL: is not known"}, {`{"name":"b"}`, "name: is not known"},
		{`{"ttl":5,"ttl":6}`, `body: has "ttl" more than once`}, {`{"t\u0074l":5,"ttl":5}`, "more than once"},
		{`{"ttl":null}`, "ttl: must be a string or a number, not null"}, {`{"ttl":true}`, "ttl: must be"},
		{`{"ttl":{}}`, "ttl: must be"}, {`{"ttl":[5]}`, "ttl: must be"}, {`{"ttl":"x"}`, "ttl: "}, {`{"ttl":1e309}`, "ttl: "},
		{`{"ttl":-5}`, "ttl: "}, {`{"ttl":0}`, "ttl: "}, {`{"renew":"true"}`, "renew: must be a boolean, not a string"},
		{`{"renew":1}`, "renew: "}, {`{"thread":"1"}`, "thread: must be a number, not a string"}, {`{"thread":1.5}`, "thread: "},
		{`{"thread":1e-3}`, "thread: "}, {`{"note":5}`, "note: "}, {`{"note":"a\u0000"}`, "note: "}, {"{\"note\":\"\xff\"}", "UTF-8"},
		{`{"bind":{"pid":1}}`, "bind: "}, {`{"mode":1}`, "mode: "}, {`{"limit":0}`, "limit: "},
		{strings.Repeat(`{"a":`, 10) + "1" + strings.Repeat("}", 10), "body: is nested too deeply"},
		{strings.Repeat("[", 60000), "body: is nested too deeply"}, {manyNames(65), "body: has an object with more than 64 names"},
	} {
		rows = append(rows, badRequest{request{method: "PUT", path: "/v1/locks/a", body: tt.body}, 400, session.CodeInvalid, tt.detail})
	}
	for _, tt := range []struct{ body, detail string }{
		{`{"keepalive":0}`, "keepalive: "}, {`{"keepalive":"25h"}`, "keepalive: "}, {`{"ttl":"1ms"}`, "ttl: "},
		{`{"ttl":0}`, "ttl: "}, {`{"max_hold":0}`, "max_hold: "}, {`{"bind":"pid:1"}`, "bind: must be an object"},
		{`{"bind":{"pid":0}}`, "bind: pid: "}, {`{"bind":{}}`, "bind: pid: is missing"}, {`{"bind":{"pid":1,"pid":1}}`, "more than once"},
		{`{"bind":{"uid":1}}`, "bind: uid: is not known"}, {`{"bind":{"pid":1}}`, "Unix socket"}, {`{"meta":{"a":1}}`, "meta: a: must be a string"},
		{`{"meta":{"a":"\n"}}`, "meta: a: "}, {`{"meta":"a"}`, "meta: "},
		{`{"meta":{"` + strings.Repeat("n", 257) + `":"a"}}`, "is 257 bytes long"}, {`{"meta":{"\u001b":"a"}}`, `meta: "\x1b": must not contain control`},
		{`{"meta":{` + manyMembers(17) + `}}`, "meta: is 4369 bytes long, the limit is 4096"},
		{`{"name":"` + strings.Repeat("n", 257) + `"}`, "name: is 257 bytes long"}, {`{"meta":{"a":"` + strings.Repeat("n", 257) + `"}}`, "meta: a: is 257"}, {`{"name":"\u001b"}`, "name: "}, {`{"name":"\u202e"}`, "name: "}, {`{"wait":1}`, "wait: is not known"},
	} {
		rows = append(rows, badRequest{request{method: "POST", path: "/v1/sessions", body: tt.body}, 400, session.CodeInvalid, tt.detail})
	}
	for _, half := range []string{`\ud800`, `\udcff`, `\uDBFF\uDBFF\uDFFF`, `\\\ud83d\\ude00`, `\ud83dx\ude00`, `\ud83d\ude00\ude00`} {
		body := `{"names":["a","a` + half + `"]}`
		rows = append(rows, badRequest{request{method: "POST", path: "/v1/multilocks", body: body}, 400, session.CodeInvalid, "half of a character"})
	}
	rows = append(rows, badRequest{
		request{method: "PUT", path: "/v1/locks/a?mode=exclusive", body: `{"limit":2}`}, 400, session.CodeInvalid, "limit: does not go with mode=exclusive",
	}, badRequest{
		request{method: "POST", path: "/v1/multilocks", body: `{"names":["a"],"mode":"exclusive","limit":2}`}, 400, session.CodeInvalid, "limit: does not go",
	}, badRequest{
		request{method: "PUT", path: "/v1/locks/a?ttl=5", body: `{"ttl":5}`}, 400, session.CodeInvalid, "ttl: is in the query and in the body",
	})
	g.refuseAll(rows)
}

func manyNames(n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf(`"n%d":1`, i))
	}
	return "{" + strings.Join(names, ",") + "}"
}

func TestMediaTypes(t *testing.T) {
	g := newGateway(t, session.Config{})
	var rows []badRequest
	for _, header := range []http.Header{
		{"Content-Type": {"text/plain"}}, {"Content-Type": {"application/x-www-form-urlencoded"}}, {"Content-Type": {""}},
		{"Content-Type": {"application/json; charset=utf-16"}}, {"Content-Type": {"application/json;"}, "Content-Encoding": {"gzip"}},
		{"Content-Type": {"application/json"}, "Content-Encoding": {"identity", "gzip"}},
		{"Content-Type": {"multipart/form-data; boundary=x"}}, {"Content-Type": {"json"}},
		{"Content-Type": {"application/json", "text/plain"}},
	} {
		for _, r := range []request{
			{method: "PUT", path: "/v1/locks/a"}, {method: "POST", path: "/v1/locks/a/hold"}, {method: "POST", path: "/v1/sessions"},
			{method: "POST", path: "/v1/sessions/self/keepalive"},
		} {
			r.body, r.header = "{}", header
			rows = append(rows, badRequest{r, 415, codeMediaType, ""})
		}
	}
	g.refuseAll(rows)
	// without a body the type of it does not matter
	g.must(201, request{method: "PUT", path: "/v1/locks/a", header: http.Header{"Content-Type": {"text/plain"}}})
	g.must(201, request{
		method: "PUT", path: "/v1/locks/b", body: "{}", header: http.Header{"Content-Type": {"Application/JSON; charset=UTF-8"}},
	})
}

func TestCredentials(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	unknown := strings.Repeat("A", 43)
	needs := []request{
		{method: "DELETE", path: "/v1/locks/a"}, {method: "POST", path: "/v1/locks/a/renew"}, {method: "GET", path: "/v1/sessions/self"},
		{method: "DELETE", path: "/v1/sessions/self"}, {method: "POST", path: "/v1/sessions/self/keepalive"},
		{method: "GET", path: "/v1/sessions/self/events"},
	}
	var rows []badRequest
	for _, r := range needs {
		rows = append(rows, badRequest{r, 401, session.CodeNoSession, "POST /v1/sessions"})
	}
	for _, r := range append(needs, request{method: "PUT", path: "/v1/locks/a"}, request{method: "POST", path: "/v1/locks/a/hold"}) {
		for _, auth := range []string{"", "Bearer", "Bearer ", "Basic dTpw", "Basic " + token, token, "Bearer " + unknown, "Bearer " + token + "x", "Bearer " + token[:42]} {
			r.header = http.Header{"Authorization": {auth}}
			rows = append(rows, badRequest{r, 401, session.CodeNoSession, ""})
		}
		r.header = http.Header{"Authorization": {"Bearer " + token, "Bearer " + token}}
		rows = append(rows, badRequest{r, 400, session.CodeInvalid, "Authorization: "})
		r.header = nil
		for _, name := range []string{"token", "access_token"} {
			q := r
			q.path += "?" + name + "=" + token
			rows = append(rows, badRequest{q, 400, session.CodeInvalid, name + ": a token belongs in the Authorization header"})
		}
	}
	g.refuseAll(rows)
	a := g.do(request{method: "GET", path: "/v1/sessions/self"})
	if got := a.header.Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer") {
		t.Errorf("WWW-Authenticate = %q, want Bearer", got)
	}
	g.must(200, request{method: "GET", path: "/v1/sessions/self", header: http.Header{"Authorization": {"bearer " + token}}})
	if strings.Contains(g.log.String(), token) {
		t.Error("the token is in the log")
	}
}

func TestIdempotencyKeyMustBeVisible(t *testing.T) {
	g := newGateway(t, session.Config{})
	token := g.open()
	var rows []badRequest
	for _, key := range []string{"", strings.Repeat("k", 65), "a b", "ä", "a\tb"} {
		for _, method := range []string{"PUT", "DELETE"} {
			r := request{method: method, path: "/v1/locks/a", token: token, header: http.Header{"Idempotency-Key": {key}}}
			rows = append(rows, badRequest{r, 400, session.CodeInvalid, "Idempotency-Key: "})
		}
	}
	r := request{method: "PUT", path: "/v1/locks/a", token: token, header: http.Header{"Idempotency-Key": {"a", "b"}}}
	g.refuseAll(append(rows, badRequest{r, 400, session.CodeInvalid, "more than once"}))
	r.header = http.Header{"Idempotency-Key": {strings.Repeat("~", 64)}}
	g.must(201, r)
}

// manyMembers are n members of an object, of 257 bytes each.
func manyMembers(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"%c":"%s"`, 'a'+i, strings.Repeat("n", 256)))
	}
	return strings.Join(all, ",")
}
