package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"

	"github.com/spf13/pflag"

	"github.com/lockgw/lockgw/session"
)

// loadWith reads a file with text, and flags as they would be typed.
func loadWith(t *testing.T, text string, flags ...string) (Settings, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "f.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	addKeys(set)
	if err := set.Parse(flags); err != nil {
		t.Fatal(err)
	}
	return loader{file: file, flags: set}.load()
}

func TestConfigDefaults(t *testing.T) {
	s, err := loadWith(t, "")
	if err != nil {
		t.Fatalf("without any setting: %v", err)
	}
	if want := Default(); !reflect.DeepEqual(s.Config, want) {
		t.Errorf("config = %+v, want the defaults %+v", s.Config, want)
	}
	for key, origin := range s.Origins {
		if origin != originDefault {
			t.Errorf("origin of %s = %q, want %q", key, origin, originDefault)
		}
	}
}

func TestConfigLayers(t *testing.T) {
	const file = "lock:\n  ttl: 20s\n  delay: 1\n  max_wait: 2m\n"
	t.Setenv("LOCKGW_LOCK_DELAY", "2s")
	t.Setenv("LOCKGW_LOCK_MAX_WAIT", "3m")
	t.Setenv("LOCKGW_BACKEND_KEY_PREFIX", "") // sets nothing
	s, err := loadWith(t, file, "--lock-max-wait=4m", "--http-listen=")
	if err != nil {
		t.Fatal(err)
	}
	want := Lock{TTL: 20 * time.Second, Delay: 2 * time.Second, MaxWait: 4 * time.Minute}
	if s.Lock != want {
		t.Errorf("lock = %+v, want %+v: flags before environment before file", s.Lock, want)
	}
	if len(s.HTTP.Listen) != 0 {
		t.Errorf("http.listen = %q after --http-listen=, want none", s.HTTP.Listen)
	}
	for key, want := range map[string]string{
		"lock.ttl": "f.yaml:2", "lock.delay": "LOCKGW_LOCK_DELAY", "lock.max_wait": "--lock-max-wait",
		"http.listen": "--http-listen", "backend.key_prefix": "default",
	} {
		if got := s.Origins[key]; !strings.HasSuffix(got, want) {
			t.Errorf("origin of %s = %q, want %q", key, got, want)
		}
	}
}

// A Secret of Kubernetes or a line of EnvironmentFile= may end with more than its author meant.
func TestConfigSpaceInEnvironment(t *testing.T) {
	for _, url := range []string{"redis://redis:6379/0", "postgres://lockgw@db/locks", "etcd://a:2379"} {
		t.Setenv("LOCKGW_BACKEND_URL", " "+url+"\r\n")
		t.Setenv("LOCKGW_NODE", "\n") // sets nothing
		s, err := loadWith(t, "")
		if err != nil {
			t.Errorf("white space around %s: %v", url, err)
		}
		if s.Backend.URL != url || s.Origins["backend.url"] != "LOCKGW_BACKEND_URL" || s.Given("node") {
			t.Errorf("backend.url = %q from %s, want %q from the variable; node from %s, want the default",
				s.Backend.URL, s.Origins["backend.url"], url, s.Origins["node"])
		}
	}
}

// Every key has a text that sets it to what it is, a flag and a variable of its own.
func TestConfigFields(t *testing.T) {
	defaults := Default()
	for _, f := range fields() {
		c := Config{}
		if err := f.set(&c, f.text(&defaults)); err != nil {
			t.Errorf("%s: its default %q cannot be set: %v", f.key, f.text(&defaults), err)
		}
		if got, want := f.of(&c).Interface(), f.of(&defaults).Interface(); f.text(&c) != f.text(&defaults) {
			t.Errorf("%s: set to its default it is %v, want %v", f.key, got, want)
		}
		if f.help == "" {
			t.Errorf("%s has no description", f.key)
		}
	}
}

func TestConfigBadValues(t *testing.T) {
	tests := []struct{ file, want string }{
		{"node: ''", "node: must not be empty (f.yaml:1)"},
		{"node: \"a b\"", "white space"},
		{"http: {listen: [localhost]}", "no address such as"},
		{"http: {listen: ['127.0.0.1:70000']}", "no port from 0 to 65535"},
		{"http: {listen: ['127.0.0.1:http']}", "no port from 0 to 65535"},
		{"http: {listen: ['127.0.0.1:1', ':7420']}", `":7420" can be reached from other machines`},
		{"http: {listen: ['127.0.0.1.evil.example:1']}", "can be reached from other machines"},
		{"http: {listen: ['10.0.0.1:1'], tls: {cert_file: a, key_file: b}}", "can be reached from other machines"},
		{"http: {allowed_hosts: [a.example, 'b.example:7420']}", `http.allowed_hosts: "b.example:7420" is no host name or address`},
		{"http: {allowed_hosts: ['[2001:db8::7]:7420']}", "without a scheme, a port"},
		{"http: {allowed_hosts: ['https://a.example']}", "without a scheme, a port"},
		{"http: {allowed_hosts: ['*.example']}", "or a wildcard"},
		{"http: {allowed_hosts: [a.example, null]}", `http.allowed_hosts: "null" is no host name; leave the value empty`},
		{"http: {allowed_hosts: [~]}", `http.allowed_hosts: "~" is no host name`},
		{"http: {allowed_hosts: ['\"\"']}", "is no host name"},
		{"http: {allowed_hosts: [bücher.example]}", "is no host name"},
		{"http: {tls: {cert_file: /nosuch, key_file: /nosuch}}", "http.tls.cert_file: http.tls: open /nosuch"},
		{"http: {tls: {cert_file: a}}", "needs both cert_file and key_file"},
		{"http: {tls: {client_ca_file: a}}", "needs both cert_file and key_file"},
		{"socket: {mode: 0888}", "no octal permission"},
		{"socket: {mode: 04777}", "no octal permission"},
		{"state_dir: ''", "state_dir: must not be empty"},
		{"http: {listen: ['127.0.0.1:1', '127.0.0.1:1']}", `http.listen: "127.0.0.1:1" is given twice`},
		{"http: {listen: ['127.0.0.1:1', 'localhost:1']}", `"localhost:1" cannot be had beside "127.0.0.1:1"`}, // as it is everywhere
		{"http: {listen: ['[::ffff:127.0.0.1]:1', '[::1]:1', '127.0.0.1:01']}", `"127.0.0.1:01" cannot be had beside "[::ffff:127.0.0.1]:1"`},
		{"http: {listen: ['[::1]:1', ':1']}", `":1" cannot be had beside "[::1]:1"`},
		{"socket: {group: no such group}", `socket.group: no group "no such group" on this machine`},
		{"socket: {group: 4294967295}", "4294967295 is the number of no group, the largest is 4294967294 (f.yaml:1)"},
		{"socket: {group: '4294967297'}", "is the number of no group"}, // its last 32 bits are group 1
		{"socket: {group: -1}", `no group "-1" on this machine`},
		{"socket: {dir: ''}", "socket.dir: must not be empty"},
		{"socket: {dir: " + strings.Repeat("/0123456789", 10) + "}", "the kernel allows 107"},
		{"backend: {url: localhost:6379}", "must be the URL of a store"},
		{"backend: {url: mysql://a}", "names no database"},
		{"backend: {url: mariadb://a/b}", "named by mysql://"},
		{"backend: {url: 'etcd://a,,c'}", "member 2 is empty"},
		{"backend: {url: 'etcd://u@a'}", "not user:password"},
		{"backend: {url: 'etcd://a?ca_file=x'}", "need tls=true"},
		{"backend: {url: 'zookeeper://a,,c'}", "member 2 is empty"},
		{"backend: {url: 'zookeeper://u@a'}", "not user:password"},
		{"backend: {url: 'zookeeper://a/zookeeper/x'}", "take another chroot"},
		{"backend: {url: 'zookeeper://a?session=1'}", "session has to be a time"},
		{"backend: {url: 'zookeeper://a?timeout=1s'}", "unknown setting \"timeout\"; there are session, tick"},
		{"backend: {url: 'redlock://a,b'}", "2 members are too few"},
		{"http: {listen: ['10.0.0.1:1'], tls: {client_ca_file: c}}", "needs both cert_file and key_file"},
		{"http: {listen: ['10.0.0.1:1']}\naccess: {tokens_file: /nosuch}", "can be reached from other machines"},
		{"access: {tokens_file: /nosuch}", "access.tokens_file: open /nosuch: no such file or directory (f.yaml:1)"},
		{"admin: {token_file: /nosuch}", "admin.token_file: open /nosuch"},
		{"access: {rules: {who: anyone}}", "access.rules must be a list"},
		{"access: {rules: [anyone]}", "access.rules must be a section with the keys who, may, locks"},
		{"access:\n  rules:\n    - {who: anyone, may: lock, lokcs: a}", `f.yaml:3: unknown key "access.rules.lokcs", did you mean "locks"?`},
		{"access:\n  rules:\n    - {who: anyone, may: lock, locks: a}\n    - {who: anyone, may: lock}", "f.yaml:4: access.rules: rule 2: a rule needs who, may and locks"},
		{"access: {rules: [{who: [[a]], may: lock, locks: a}]}", "access.rules.who must be a list of plain texts"},
		{"access: {rules: [{who: bob, may: lock, locks: a}]}", `rule 1: who: "bob" is not user:NAME`},
		{"access:\n  rules:\n  #  - {who: anyone, may: inspect, locks: '*'}", "f.yaml:2: access.rules has no rule after it"},
		{"access: {rules: ~}", "access.rules has no rule after it"},
		{"http:\n  listen:\n  #  - 127.0.0.1:7420", "f.yaml:2: http.listen has no address after it; write [] if there is to be no HTTP over TCP"},
		{"access: {rules: lock}", "is no list of rules such as"},
		{"limits: {requests_per_second: -1}", "-1 is less than 0"},
		{"backend: {url_file: /nosuch}", "backend.url_file: open /nosuch"},
		{"backend: {url_file: /nosuch, url: 'redis://h'}", "backend.url is given, too (f.yaml:1)"},
		{"backend: {password_file: /dev/null, url: 'redis://h'}", "/dev/null is empty"},
		{"backend: {url: http://a}", `unknown scheme "http"`},
		{"backend: {url: memory://x}", "takes nothing after it"},
		{"backend: {url: 'redis://h?nosuch=1'}", "unexpected option: nosuch"},
		{"backend: {url: 'redis+cluster://a,b/3'}", "no databases but 0"},
		{"backend: {url: 'redis+cluster://a,b?nosuch=1'}", "unexpected option: nosuch"},
		{"backend: {timeout: 0}", "must be longer"},
		{"backend: {timeout: -1s}", "must not be negative"},
		{"backend: {timeout: 1e3}", "no duration"},
		{"backend: {key_prefix: \"a\\tb\"}", "white space"},
		{"backend: {redis: {guard: perhaps}}", "not one of quarantine, none"},
		{"backend: {redis: {guard: wait}}", "wait is gone: a replica that has heard of a grant need not be the one that takes over; use quarantine"},
		{"backend: {url: 'redis://h/x'}", "path has to be a database number"},
		{"{backend: {url: 'redlock://a,b,c?max_ttl=10s'}, lock: {ttl: 30s}}", "is longer than max_ttl of backend.url, which is 10s"},
		{"lock: {ttl: 500ms}", "not between limits.min_ttl 1s (default) and limits.max_ttl 24h (default)"},
		{"lock: {ttl: 25h}", "not between"},
		{"session: {keepalive: 2d}", "session.keepalive: 2d is longer than limits.max_ttl, which is 24h (default)"},
		{"{session: {keepalive: 1m}, limits: {max_ttl: 45s}}", "session.keepalive: 1m is longer than limits.max_ttl, which is 45s"},
		{"limits: {min_ttl: 2h, max_ttl: 1h}", "limits.max_ttl: 1h is shorter than limits.min_ttl, which is 2h"},
		{"{lock: {ttl: 30s}, limits: {max_ttl: 20s}}", "lock.ttl: 30s is not between"},
		{"limits: {min_ttl: 50ms}", "limits.min_ttl: 50ms is too short"},
		{"limits: {max_ttl: 50ms}", "limits.min_ttl: 50ms is too short: a lease ends 50ms earlier here than in the store, and has to be longer than that (default, as far as limits allow)"},
		{"limits: {sessions: 0}", "0 is less than 1"},
		{"limits: {answers: 131073}", "limits.answers: 131073 is more than 131072"},
		{"limits: {answers_per_user: 200000}", "limits.answers_per_user: 200000 is more than 131072"},
		{"limits: {sessions: 1.5}", "no whole number"},
		{"limits: {sessions: 99999999999999999999}", "no whole number"},
		{"fairness: {exact_owner: 'yes'}", "not true or false"},
		{"fairness: {retain: 1001ms}", "fairness.retain: 1.001s is longer than 1s"},
		{"{fairness: {retain: 700ms}, lock: {ttl: 2s}}", "700ms is longer than a third of lock.ttl, which is 2s (f.yaml:1)"},
		{"log: {format: xml}", "not one of auto, json, text"},
		{"Log: {level: info}", `unknown key "Log", did you mean "log"?`},
		{"backend.url: memory://", `unknown key "backend.url"`},
		{"[1, 2]", "must be a section"},
		{"backend: memory", "backend must be a section"},
		{"lock: {ttl: {s: 1}}", "lock.ttl must be one plain value"},
		{"http: {listen: [[a]]}", "list of plain texts"},
		{"a: &a [*a]", "unknown key"},
		{"\x00", "control characters"},
		{strings.Repeat("#", maxFile+1), "longer than"},
	}
	for _, tt := range tests {
		s, err := loadWith(t, tt.file)
		if err == nil {
			t.Errorf("%.60q was accepted: %+v; want an error with %q", tt.file, s.Config, tt.want)
			continue
		}
		// The name of the directory is not of interest.
		got := strings.ReplaceAll(err.Error(), filepath.Dir(s.File)+"/", "")
		if !strings.Contains(got, tt.want) {
			t.Errorf("%.60q: error %q, want %q in it", tt.file, got, tt.want)
		}
	}
}

// What follows from a bad value alone is not reported beside it.
func TestConfigNoEcho(t *testing.T) {
	_, err := loadWith(t, "lock: {ttl: soon}\nlimits: {max_ttl: 10s}\nnode: ''")
	if err == nil || strings.Count(err.Error(), "lock.ttl") != 1 || !strings.Contains(err.Error(), "node: must not be empty") {
		t.Errorf("errors %v, want one about lock.ttl and one about node", err)
	}
}

// A limit alone is no contradiction: the defaults that it would make invalid follow it.
func TestConfigDefaultsFollowLimits(t *testing.T) {
	tests := []struct {
		file string
		want map[string]string // by key; all others are as they are without any setting
	}{
		{"limits: {max_ttl: 45s}", map[string]string{"session.keepalive": "45s"}},
		{"limits: {max_ttl: 10s}", map[string]string{"session.keepalive": "10s", "lock.ttl": "10s"}},
		{"limits: {max_ttl: 500ms}", map[string]string{"session.keepalive": "500ms", "lock.ttl": "500ms", "limits.min_ttl": "500ms"}},
		{"limits: {min_ttl: 2m}", map[string]string{"lock.ttl": "2m"}},
		{"limits: {min_ttl: 2d}", map[string]string{"lock.ttl": "2d", "limits.max_ttl": "2d"}},
		{"backend: {url: 'redlock://a,b,c?max_ttl=10s'}", map[string]string{"lock.ttl": "10s"}},
	}
	defaults := Settings{Config: Default()}.Shown()
	for _, tt := range tests {
		s, err := loadWith(t, tt.file)
		if err != nil {
			t.Errorf("%s: %v", tt.file, err)
			continue
		}
		for key, got := range s.Shown() {
			want := ShownValue{Value: defaults[key].Value, Origin: originDefault}
			if value, ok := tt.want[key]; ok {
				want = ShownValue{Value: value, Origin: originFitted}
			}
			if got != want && !strings.HasPrefix(got.Origin, s.File) {
				t.Errorf("%s: %s is shown as %+v, want %+v", tt.file, key, got, want)
			}
			if got.Origin == originFitted && s.Given(key) {
				t.Errorf("%s: %s counts as given", tt.file, key)
			}
		}
	}
}

func TestConfigGoodValues(t *testing.T) {
	c := writeCert(t)
	for _, file := range []string{
		"", "# nothing", "---\n", "http:\n", "socket: {group: }", "socket: {group: 4294967294}",
		"http: {listen: []}", "http: {listen: '127.0.0.1:1, [::1]:2'}", "http: {listen: ['localhost:0']}",
		"http: {listen: ['127.0.0.1:1', '[::1]:1', '127.0.0.2:1', '127.0.0.1:2']}", "http: {listen: ['127.0.0.1:0', '127.0.0.1:0', 'localhost:0']}",
		"http: {allowed_hosts: [Gateway.Example, host_a, 10.0.0.7, '2001:db8::7', '[2001:db8::7]']}",
		fmt.Sprintf("http: {listen: ['0.0.0.0:1'], tls: {cert_file: %s, key_file: %s, client_ca_file: %s}}", c.CertFile, c.KeyFile, c.ClientCAFile),
		fmt.Sprintf("http: {listen: ['0.0.0.0:1'], tls: {cert_file: %s, key_file: %s}}\naccess: {tokens_file: %s}", c.CertFile, c.KeyFile, e2e.SecretFile(t, "a a-token-of-16-signs")),
		"socket: {mode: 0660}", "socket: {mode: '0o600'}", "socket: {mode: 600}",
		"backend: {url: 'redis://u:p@h:1/2'}", "backend: {url: 'rediss://h'}", "backend: {url: 'redis+unix:///r.sock'}",
		"lock: {ttl: &x 20s, delay: *x}",
		"{backend: {url: 'redlock://a,b,c'}, fairness: {mode: strict}}", "fairness: {retain: 1s}", "{fairness: {retain: 0.5}, lock: {ttl: 1500ms}}",
	} {
		if _, err := loadWith(t, file); err != nil {
			t.Errorf("%q: %v, want it accepted", file, err)
		}
	}
}

// A password must not get out by an error or by what is shown.
func TestConfigHidesPassword(t *testing.T) {
	for _, raw := range []string{
		"redis://user:sesame@host:1/0", "redis://:sesame@host", "redis://user:x#sesame@host", "redis://u:sesame@host:port",
		"redis://u:%zzsesame@host", "rediss://host?password=sesame", "redis://host?password=sesame;x", "redis://host?password=sesame%zz", "etcd://u:sesame@h1:x", "etcd://u:ses/ame@h1", "etcd://u:%zzsesame@h1",
		"zookeeper://u:sesame@h1:x", "zookeeper://u:ses/ame@h1", "zookeeper://u:%zzsesame@h1", "sesame",
	} {
		if err := CheckBackendURL(raw); err != nil && strings.Contains(err.Error(), "sesame") {
			t.Errorf("checkBackendURL(%q) = %v, which tells the password", raw, err)
		}
		if raw == "sesame" {
			continue // no URL, so nothing says which part of it would be a secret
		}
		if got := withoutPassword(raw); strings.Contains(got, "sesame") {
			t.Errorf("withoutPassword(%q) = %q", raw, got)
		}
		if got := StoreText(raw); CheckBackendURL(raw) == nil && strings.Contains(got, "sesame") {
			t.Errorf("StoreText(%q) = %q", raw, got)
		}
	}
	for _, raw := range []string{"memory://", "redis://host:6379/0", "redis+unix:///run/redis.sock?db=1"} {
		if got := withoutPassword(raw); got != raw {
			t.Errorf("withoutPassword(%q) = %q, want it unchanged", raw, got)
		}
	}
}

// Whatever the manager is told must be what was configured, each at its place.
func TestConfigManager(t *testing.T) {
	s, err := loadWith(t, `
node: n
backend: {timeout: 1s}
lock: {ttl: 2s, max_wait: 3s, delay: 4s}
session: {keepalive: 5s, anonymous_max_hold: 6s, reattach: 7s}
fairness: {mode: strict, max_turns: 7, max_turn_time: 8s, exact_owner: true, retain: 250ms}
shutdown: {holds: keep}
limits: {min_ttl: 1.5, max_ttl: 10s, waiters_per_lock: 11, holds_per_session: 12, holds_per_user: 19, waits_per_session: 13, sessions: 14, sessions_per_user: 16, entries_per_hold: 15, answers_per_user: 17, answers: 18}
`)
	if err != nil {
		t.Fatal(err)
	}
	want := session.Config{
		Node: "n", Store: "memory://", Timeout: time.Second, TTL: 2 * time.Second, Delay: 4 * time.Second, KeepHolds: true,
		Fairness: session.Fairness{Strict: true, MaxTurns: 7, MaxTurnTime: 8 * time.Second, ExactOwner: true, Retain: 250 * time.Millisecond},
		Session:  session.Lifetime{Keepalive: 5 * time.Second, AnonymousMaxHold: 6 * time.Second, Reattach: 7 * time.Second},
		Limits: session.Limits{
			MaxWait: 3 * time.Second, MinTTL: 1500 * time.Millisecond, MaxTTL: 10 * time.Second,
			WaitersPerLock: 11, HoldsPerSession: 12, HoldsPerUser: 19, WaitsPerSession: 13, Sessions: 14, SessionsPerUser: 16, Entries: 15, AnswersPerUser: 17, Answers: 18,
		},
	}
	if got := s.Config.Manager(); !reflect.DeepEqual(got, want) {
		t.Errorf("manager config = %+v, want %+v", got, want)
	}
}

func TestConfigSchema(t *testing.T) {
	text, err := json.Marshal(schema())
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	for _, f := range fields() {
		node := root
		for part := range strings.SplitSeq(f.key, ".") {
			if node["additionalProperties"] != false {
				t.Errorf("the section of %s allows unknown keys", f.key)
			}
			properties, _ := node["properties"].(map[string]any)
			node, _ = properties[part].(map[string]any)
		}
		if node == nil {
			t.Errorf("%s is not in the schema", f.key)
			continue
		}
		if node["description"] != f.help {
			t.Errorf("%s: description %q, want %q", f.key, node["description"], f.help)
		}
		if enum, _ := node["enum"].([]any); len(enum) != len(f.oneOf) {
			t.Errorf("%s: schema allows %v, want %v", f.key, enum, f.oneOf)
		}
		machine := []string{"node", "state_dir", "socket.dir"}
		if _, has := node["default"]; has == slices.Contains(machine, f.key) {
			t.Errorf("%s: has a default in the schema: %v", f.key, has)
		}
	}
}

func TestUnknownVariables(t *testing.T) {
	t.Setenv("LOCKGW_BACKEND_ULR", "x")
	t.Setenv("LOCKGW_LOCK_TTL", "20s")
	t.Setenv("LOCKGW_KNOWN", "x")
	l := loader{others: []string{"LOCKGW_KNOWN"}}
	got := l.unknownVariables(fields())
	got = slices.DeleteFunc(got, func(s string) bool {
		return !strings.Contains(s, "BACKEND_ULR") && !strings.Contains(s, "KNOWN") && !strings.Contains(s, "LOCK_TTL")
	})
	want := []string{`unknown environment variable LOCKGW_BACKEND_ULR, did you mean "LOCKGW_BACKEND_URL"?`}
	if !slices.Equal(got, want) {
		t.Errorf("warnings = %q, want %q", got, want)
	}
}

// Whoever may write in a directory of the gateway can put a socket or a journal there.
func TestWritersOfTheDirs(t *testing.T) {
	dir := t.TempDir()
	warned := func(mode os.FileMode) []string {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		s, err := loadWith(t, "", "--socket-dir="+dir, "--state-dir="+dir)
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(s.Warnings, func(w string) bool { return !strings.Contains(w, dir) })
	}
	if got := warned(0o755); len(got) != 0 {
		t.Errorf("warnings %q about a directory that only its owner may write in", got)
	}
	if got := warned(0o770); len(got) != 2 || !strings.HasPrefix(got[0], "socket.dir: whoever is in the group of "+dir) || !strings.HasPrefix(got[1], "state_dir: ") {
		t.Errorf("warnings %q, want one of each key", got)
	}
}

// Who may rename the directory can put another one there, whose sockets clients send their tokens
// to: the rights of the directory itself say nothing about that.
func TestWritersAboveTheDirs(t *testing.T) {
	above := t.TempDir()
	dir := filepath.Join(above, "run", "lockgw") // not made yet
	warned := func(mode os.FileMode) []string {
		if err := os.Chmod(above, mode); err != nil {
			t.Fatal(err)
		}
		s, err := loadWith(t, "", "--socket-dir="+dir, "--state-dir="+dir)
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(s.Warnings, func(w string) bool { return !strings.Contains(w, above) })
	}
	for _, mode := range []os.FileMode{0o755, 0o775, 0o777 | os.ModeSticky} {
		if got := warned(mode); len(got) != 0 {
			t.Errorf("warnings %q about a directory of mode %v, below which nobody can put another", got, mode)
		}
	}
	want := "every user of this machine may put another directory in the place of " + filepath.Join(above, "run") + ", "
	if got := warned(0o777); len(got) != 2 || !strings.HasPrefix(got[0], "socket.dir: "+want) || !strings.HasPrefix(got[1], "state_dir: "+want) {
		t.Errorf("warnings %q, want one of each key", got)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root may give a directory away")
	}
	if err := os.Chown(above, 4711, -1); err != nil {
		t.Fatal(err)
	}
	if got := warned(0o755); len(got) != 2 || !strings.Contains(got[0], "belongs to the user with id 4711") {
		t.Errorf("warnings %q, want one of each key that names the user", got)
	}
}

// Whoever may write the configuration is an administrator of the gateway.
func TestWritersOfTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.yaml")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	load := func() []string {
		set := pflag.NewFlagSet("test", pflag.ContinueOnError)
		addKeys(set)
		s, err := loader{file: file, flags: set}.load()
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(s.Warnings, func(w string) bool { return !strings.Contains(w, file) })
	}
	if got := load(); len(got) != 0 {
		t.Errorf("warnings %q about a file that only its owner may write", got)
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := load(); len(got) != 1 || !strings.Contains(got[0], "every user of this machine may write") {
		t.Errorf("warnings %q, want that everybody may write it", got)
	}
	if os.Getuid() != 0 {
		return // only root may give it away
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(file, 1001, -1); err != nil {
		t.Fatal(err)
	}
	if got := load(); len(got) != 1 || !strings.Contains(got[0], "user with id 1001") {
		t.Errorf("warnings %q, want whose it is", got)
	}
}

// What came through a pipe, as from a shell's <(...), is not there when it is read again. It
// is not taken for a file that sets nothing, without the rules that were in force.
func TestPipeIsReadOnce(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.WriteString("access: {rules: [{who: 'user:0', may: lock, locks: a}]}"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	addKeys(set)
	l := loader{file: fmt.Sprintf("/dev/fd/%d", r.Fd()), flags: set}
	if s, err := l.load(); err != nil || len(s.Access.Rules) != 1 {
		t.Fatalf("the pipe is read as %v, %v; want its rule", s.Access.Rules, err)
	}
	if s, err := l.load(); err == nil || !strings.Contains(err.Error(), "can be read once") {
		t.Errorf("the empty pipe is read as %v, %v; want an error", s.Access.Rules, err)
	}
}

// What serve would refuse is refused before.
func TestKeyPrefix(t *testing.T) {
	for prefix, wrong := range map[string]bool{"app:": false, "lockgw:": true, "lockgw:x": true, "{a}": true} {
		_, err := loadWith(t, fmt.Sprintf("backend: {url: 'redis://localhost', key_prefix: %q}", prefix))
		if (err != nil) != wrong || wrong && !strings.Contains(err.Error(), "backend.key_prefix: ") {
			t.Errorf("key_prefix %q: %v, refused must be %v", prefix, err, wrong)
		}
	}
}
