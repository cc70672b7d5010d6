package config

import (
	"reflect"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"

	"github.com/lockgw/lockgw/session/access"
)

// Rules mean the same in the file, the environment and as a flag.
func TestConfigAccessRules(t *testing.T) {
	const file = "access:\n  rules:\n    - {who: \"user:0\", may: lock, locks: \"a,b\"}\n    - who: [loopback, \"token:x\"]\n      may: [inspect, admin]\n      locks: [\"c*\", d]\n"
	want := []access.Rule{
		{Who: []string{"user:0"}, May: []string{"lock"}, Locks: []string{"a,b"}},
		{Who: []string{"loopback", "token:x"}, May: []string{"inspect", "admin"}, Locks: []string{"c*", "d"}},
	}
	s, err := loadWith(t, file)
	if err != nil || !reflect.DeepEqual(s.Admission.Rules, want) {
		t.Errorf("file: %v, %v; want %v", s.Admission.Rules, err, want)
	}
	if s, err = loadWith(t, file, "--access-rules=[]"); err != nil || len(s.Admission.Rules) != 0 || s.Origins["access.rules"] != "--access-rules" {
		t.Errorf("an empty list: %v, %v; want no rule, by the flag", s.Admission.Rules, err)
	}
	if s, err = loadWith(t, file); err != nil {
		t.Fatal(err)
	}
	line := s.Access.Rules.String()
	if s, err = loadWith(t, "", "--access-rules="+line); err != nil || !reflect.DeepEqual(s.Admission.Rules, want) {
		t.Errorf("flag %s: %v, %v; want %v", line, s.Admission.Rules, err, want)
	}
	t.Setenv("LOCKGW_ACCESS_RULES", `[{who: "user:0", may: lock, locks: "a,b"}, {who: [loopback, token:x], may: [inspect, admin], locks: [c*, d]}]`)
	if s, err = loadWith(t, ""); err != nil || !reflect.DeepEqual(s.Admission.Rules, want) {
		t.Errorf("variable: %v, %v; want %v", s.Admission.Rules, err, want)
	}
}

func TestConfigBadRules(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"lock", "is no list of rules"},
		{"[lock]", "is no list of rules"},
		{"[{who: anyone}]", "rule 1: a rule needs who, may and locks"},
		{"[{who: anyone, may: lock, locks: a, x: y}]", "is no list of rules"},
		{"[{who: anyone, may: lock, locks: a}, {who: anyone, may: read, locks: a}]", `rule 2: may: "read" is not one of`},
		{"[{who: &a [*a], may: lock, locks: a}]", "is no list of rules"},
		{"[{", "is no list of rules"},
		{"null", "is no list of rules"}, // no empty list, which would let everybody lock everything
		{"~", "is no list of rules"},
		{"---", "is no list of rules"},
		{"[null]", "rule 1: a rule needs who, may and locks"},
		{"[{who: anyone, may: lock, locks: a}, null]", "rule 2: a rule needs who, may and locks"},
		{"[{who: anyone, may: inspect, locks: a}]\n---\n[{who: anyone, may: lock, locks: a}]", "is no list of rules"},
		{"[{who: anyone, may: inspect, locks: a}]\nwho: anyone", "is no list of rules"},
	} {
		s, err := loadWith(t, "", "--access-rules="+tt.line)
		if err == nil || !strings.Contains(err.Error(), "access.rules: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: err = %v, want %q", tt.line, err, tt.want)
		}
		if len(s.Access.Rules) != 0 {
			t.Errorf("%s: rules = %v after the error, want none", tt.line, s.Access.Rules)
		}
	}
}

func TestConfigAccess(t *testing.T) {
	tokens := e2e.SecretFile(t, "robot a-token-of-the-robot")
	admin := e2e.SecretFile(t, "the-token-of-administrators")
	s, err := loadWith(t, "limits: {requests_per_second: 5, request_burst: 9}", "--access-tokens-file="+tokens, "--admin-token-file="+admin)
	if err != nil {
		t.Fatal(err)
	}
	if want := (access.Rate{PerSecond: 5, Burst: 9}); s.Admission.Rate != want || s.Admission.AdminToken != "the-token-of-administrators" {
		t.Errorf("rate, admin token = %v, %q, want %v and the token of the file", s.Admission.Rate, s.Admission.AdminToken, want)
	}
	c, err := access.New(s.Admission)
	if err != nil {
		t.Fatal(err)
	}
	if by, ok := c.Show(access.Caller{}, "a-token-of-the-robot"); !ok || !by.Named() {
		t.Errorf("show the token of robot = %v, %v, want it known", by, ok)
	}
	for _, bad := range []string{"robot sesame", "sesame", ""} {
		_, err := loadWith(t, "", "--access-tokens-file="+e2e.SecretFile(t, bad))
		if err == nil || !strings.Contains(err.Error(), "access.tokens_file: /") || strings.Contains(err.Error(), "sesame") {
			t.Errorf("tokens %q: err = %v, want one that names the key and tells no token", bad, err)
		}
	}
}

// Whoever has the token of a caller must not be an administrator by it.
func TestAdminTokenIsNoAccessToken(t *testing.T) {
	tokens := e2e.SecretFile(t, "other another-token-of-16\nrobot one-token-for-both-of-them")
	_, err := loadWith(t, "", "--access-tokens-file="+tokens, "--admin-token-file="+e2e.SecretFile(t, "one-token-for-both-of-them"))
	if err == nil || !strings.Contains(err.Error(), "repeats the token of robot in access.tokens_file") || strings.Contains(err.Error(), "one-token") {
		t.Errorf("err = %v, want one that names the caller and tells no token", err)
	}
	if _, err := loadWith(t, "", "--access-tokens-file="+tokens); err != nil {
		t.Errorf("without an admin token: %v", err)
	}
}

// With TLS and tokens a gateway may be reached from elsewhere, with either alone not.
func TestListenElsewhere(t *testing.T) {
	both, ca := TLS{CertFile: "a", KeyFile: "b"}, TLS{CertFile: "a", KeyFile: "b", ClientCAFile: "c"}
	for _, tt := range []struct {
		tls    TLS
		tokens bool
		want   bool
	}{
		{TLS{}, false, false}, {TLS{}, true, false}, {both, false, false}, {both, true, true}, {ca, false, true}, {ca, true, true},
	} {
		if err := CheckListen("10.0.0.1:7420", tt.tls, tt.tokens); (err == nil) != tt.want {
			t.Errorf("listen elsewhere with %+v, tokens %v: %v, want it allowed: %v", tt.tls, tt.tokens, err, tt.want)
		}
	}
}

func TestWithPassword(t *testing.T) {
	for _, tt := range []struct{ raw, want string }{
		{"redis://h:1/0", "redis://:a%2F%40%3A%23b@h:1/0"},
		{"redis://u@h", "redis://u:a%2F%40%3A%23b@h"},
		{"rediss://@h?client_name=%40", "rediss://:a%2F%40%3A%23b@h?client_name=%40"},
		{"redlock://h1,h2:2,h3/1?tls=true", "redlock://:a%2F%40%3A%23b@h1,h2:2,h3/1?tls=true"},
		{"etcd://u@h1,h2:2/locks?tls=true", "etcd://u:a%2F%40%3A%23b@h1,h2:2/locks?tls=true"},
		{"zookeeper://u@h1,h2:2/a/b?tls=true", "zookeeper://u:a%2F%40%3A%23b@h1,h2:2/a/b?tls=true"},
		{"postgres://u@h1:5432,h2/locks?sslmode=disable", "postgres://u:a%2F%40%3A%23b@h1:5432,h2/locks?sslmode=disable"},
		{"mysql://u@h1,h2:3307/locks", "mysql://u:a%2F%40%3A%23b@h1,h2:3307/locks"},
		{"redis+sentinel://u@h1,h2/m", "redis+sentinel://u:a%2F%40%3A%23b@h1,h2/m"},
		{"redis+unix:///run/redis%400.sock", "redis+unix://:a%2F%40%3A%23b@/run/redis%400.sock"},
	} {
		if got, err := withPassword(tt.raw, "a/@:#b"); got != tt.want || err != nil {
			t.Errorf("withPassword(%q) = %q, %v; want %q", tt.raw, got, err, tt.want)
		}
		if err := CheckBackendURL(tt.want); err != nil {
			t.Errorf("%q: %v", tt.want, err)
		}
	}
	for raw, want := range map[string]string{"memory://": "no store that takes a password", "redis://u:p@h": "has a password, too", "h": "no store"} {
		if got, err := withPassword(raw, "sesame"); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("withPassword(%q) = %q, %v; want an error with %q", raw, got, err, want)
		}
	}
}

func TestBackendURLFile(t *testing.T) {
	s, err := loadWith(t, "", "--backend-url-file="+e2e.SecretFile(t, "redis://u:sesame@h/1\n"))
	if err != nil || s.Backend.URL != "redis://u:sesame@h/1" {
		t.Errorf("url = %q, %v; want that of the file", s.Backend.URL, err)
	}
	if origin := s.Origins["backend.url"]; origin != s.Backend.URLFile {
		t.Errorf("origin = %q, want %q", origin, s.Backend.URLFile)
	}
	if _, err := loadWith(t, "", "--backend-url-file="+e2e.SecretFile(t, "redis://a redis://b")); err == nil || !strings.Contains(err.Error(), "more than one word") {
		t.Errorf("two words: %v, want them refused", err)
	}
}

// Whatever is given as rules is refused or means the same once more.
func FuzzAccessRules(f *testing.F) {
	for _, seed := range []string{
		"", "[]", "lock", `[{who: anyone, may: lock, locks: "*"}]`, `[{"who":["user:0"],"may":["admin"],"locks":["a","b*"]}]`,
		"[{who: &a [*a], may: lock, locks: a}]", "- {who: anyone}\n- x", "{", "? [", "!!binary a", "&a [*a]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var rules, again AccessRules
		if rules.UnmarshalText([]byte(text)) != nil {
			return
		}
		if err := again.UnmarshalText([]byte(rules.String())); err != nil || !reflect.DeepEqual(again.rules(), rules.rules()) {
			t.Errorf("%q = %v, but its text %s = %v, %v", text, rules, rules, again, err)
		}
	})
}
