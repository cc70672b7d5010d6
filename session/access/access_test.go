package access

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/url"
	"os"
	"os/user"
	"slices"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/session"
)

const (
	robotToken = "a-token-of-the-robot"
	adminToken = "the-token-of-admins"
)

func unixCaller(uid int, groups ...int) Caller {
	return Caller{via: viaUnix, peer: session.Peer{UID: uid, PID: 7, Command: "sh"}, groups: groups}
}

func certCaller(t *testing.T, cn, dns, uri string) Caller {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	cert := &x509.Certificate{Subject: pkix.Name{CommonName: cn}, DNSNames: []string{dns}, URIs: []*url.URL{u}}
	return Caller{}.WithCertificate(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}}})
}

func allow(who, may, locks string) Rule {
	split := func(s string) []string { return strings.Split(s, " ") }
	return Rule{split(who), split(may), split(locks)}
}

func newControl(t *testing.T, c Config) *Control {
	t.Helper()
	var err error
	if c.Tokens, err = ParseTokens([]byte("# callers\n\nrobot " + robotToken + "\nother another-token-of-16\n")); err != nil {
		t.Fatal(err)
	}
	c.AdminToken = adminToken
	control, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return control
}

func TestRules(t *testing.T) {
	c := newControl(t, Config{Rules: []Rule{
		allow("user:1000 user:1001", "lock", "mine/* exact"),
		allow("group:50", "inspect", "mine/* shown"),
		allow("token:robot", "lock", "robots/*"),
		allow("cert:host-b cert:spiffe://x/y", "lock inspect", "hosts"),
		allow("loopback", "inspect", "local"),
		allow("anyone", "lock", "all"),
		allow("user:1002", "admin", "teams/*"),
		allow("user:1000", "inspect", "mine/more"), // takes nothing away
	}})
	robot, ok := c.Show(Caller{via: viaLoopback}, robotToken)
	if !ok {
		t.Fatal("the token of robot was not known")
	}
	other, _ := c.Show(Caller{}, "another-token-of-16")
	admin, _ := c.Show(Caller{}, adminToken)
	tests := []struct {
		by    Caller
		right Right
		name  string
		want  bool
	}{
		{unixCaller(1000), Lock, "mine/a", true},
		{unixCaller(1000), Lock, "mine/", true},
		{unixCaller(1000), Lock, "mine/more", true},
		{unixCaller(1001), Inspect, "mine/a", true}, // lock has inspect in it
		{unixCaller(1000), Admin, "mine/a", false},
		{unixCaller(1000), Lock, "mine", false},
		{unixCaller(1000), Lock, "Mine/a", false},
		{unixCaller(1000), Lock, "exact", true},
		{unixCaller(1000), Lock, "exact2", false},
		{unixCaller(1000), Lock, "robots/a", false},
		{unixCaller(7, 3, 50), Inspect, "shown", true},
		{unixCaller(7, 3, 50), Lock, "shown", false},
		{unixCaller(7, 3), Inspect, "shown", false},
		{unixCaller(50), Inspect, "shown", false}, // a user is no group
		{robot, Lock, "robots/a", true},
		{robot, Inspect, "local", true},
		{robot, Lock, "mine/a", false},
		{other, Lock, "robots/a", false},
		{Caller{token: "other"}, Lock, "robots/a", false},
		{Caller{token: "gone"}, Lock, "robots/a", false},
		{certCaller(t, "host-b", "b", "x:"), Lock, "hosts", true},
		{certCaller(t, "", "host-b", "x:"), Lock, "hosts", true},
		{certCaller(t, "c", "c", "spiffe://x/y"), Lock, "hosts", true},
		{certCaller(t, "host-bb", "host-c", "spiffe://x/z"), Lock, "hosts", false},
		{Caller{via: viaLoopback}, Inspect, "local", true},
		{Caller{via: viaNetwork}, Inspect, "local", false},
		{unixCaller(1000), Inspect, "local", false},
		{Caller{via: viaLoopback, peer: session.Peer{UID: 1000}}, Lock, "mine/a", false}, // a user is one of a socket
		{Caller{}, Lock, "all", true},
		{Caller{}, Admin, "all", false},
		{unixCaller(1002), Admin, "teams/a", true},
		{unixCaller(1002), Lock, "teams/a", true},
		{unixCaller(1002), Admin, "team", false},
		{unixCaller(1002), Admin, "", false},
		{unixCaller(0), Admin, "anything", true},
		{unixCaller(os.Geteuid()), Admin, "anything", true},
		{admin, Admin, "anything", true},
		{Caller{peer: session.Peer{UID: 0}}, Admin, "anything", false}, // the 0 of nobody is not root
	}
	for _, tt := range tests {
		if tt.by.via == viaUnix && os.Geteuid() == tt.by.peer.UID && !tt.want {
			continue // the tests run as that user
		}
		if err := c.May(tt.by, tt.right, tt.name); (err == nil) != tt.want {
			t.Errorf("may %v %s %q: %v, want %v", tt.by, tt.right, tt.name, err, tt.want)
		} else if err != nil && session.CodeOf(err) != CodeForbidden {
			t.Errorf("may %v %s %q: code %s, want %s", tt.by, tt.right, tt.name, session.CodeOf(err), CodeForbidden)
		}
	}
}

// A refusal names the caller's own rules and nobody else's.
func TestRefusal(t *testing.T) {
	c := newControl(t, Config{Rules: []Rule{
		allow("user:1000", "lock", "mine/*"), allow("user:1001", "admin", "secret/*"), allow("group:50", "inspect", "shown a"),
	}})
	err := c.May(unixCaller(1000, 50), Lock, "shown")
	want := `forbidden: lock "shown": you (uid 1000, pid 7 (sh)) may not lock it; of access.rules, rule 1 allows lock of mine/*; rule 3 allows inspect of shown, a`
	if err == nil || err.Error() != want {
		t.Errorf("err = %v, want %s", err, want)
	}
	if err = c.May(unixCaller(7), Lock, "shown"); err == nil || !strings.HasSuffix(err.Error(), "no rule of access.rules is about you (uid 7, pid 7 (sh))") {
		t.Errorf("err = %v, want that no rule is about uid 7", err)
	}
}

// Who wants to administer is told what is lacking: an admin token at all, the right one,
// or any.
func TestRefusalOfAdministrators(t *testing.T) {
	set := newControl(t, Config{AdminToken: "sesame-of-administrators"})
	wrong, shown := set.Show(Caller{}, "wrong")
	if shown {
		t.Fatal("a wrong token was taken")
	}
	for _, tt := range []struct {
		c    *Control
		by   Caller
		want string
	}{
		{set, wrong, "the token that was sent is not the admin token"},
		{set, Caller{}, "send the admin token"},
		{Open(), wrong, "this gateway has no admin token (admin.token_file is not set)"},
		{Open(), Caller{}, "this gateway has no admin token"},
	} {
		if err := tt.c.May(tt.by, Admin, "a"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("err = %v, want %q in it", err, tt.want)
		}
	}
	if Open().HasAdminToken() || !set.HasAdminToken() {
		t.Error("HasAdminToken is wrong")
	}
}

func TestWithoutRules(t *testing.T) {
	for _, by := range []Caller{{}, unixCaller(1000), {via: viaLoopback}} {
		if err := Open().May(by, Lock, "a"); err != nil {
			t.Errorf("%v may lock a: %v, want it allowed", by, err)
		}
		if err := Open().May(by, Admin, "a"); err == nil {
			t.Errorf("%v may administer a, want not", by)
		}
	}
}

func TestKnown(t *testing.T) {
	c := newControl(t, Config{})
	robot, _ := c.Show(Caller{}, robotToken)
	admin, _ := c.Show(Caller{}, adminToken)
	ofSession := Caller{}.For(session.Options{Meta: map[string]string{metaToken: "robot"}})
	for _, tt := range []struct {
		by   Caller
		want bool
	}{
		{Caller{}, false}, {Caller{token: "gone"}, false}, {Caller{}.For(session.Options{}), false},
		{Caller{}.For(session.Options{Access: strings.Repeat("00", 32)}), false},
		{robot, true}, {admin, true}, {ofSession, true}, {certCaller(t, "a", "b", "x:"), true},
		{Caller{via: viaLoopback}, true}, {unixCaller(1000), true},
	} {
		if err := c.Known(tt.by); (err == nil) != tt.want {
			t.Errorf("known %v: %v, want %v", tt.by, err, tt.want)
		}
	}
	for _, adminToken := range []string{"", "the-next-token-of-admins"} {
		if err := c.Set(Config{AdminToken: adminToken}); err != nil || c.HasAdminToken() != (adminToken != "") {
			t.Fatalf("with the admin token %q: %v, has one %v", adminToken, err, c.HasAdminToken())
		}
		for _, by := range []Caller{robot, admin, ofSession} {
			if err := c.Known(by); session.CodeOf(err) != session.CodeNoSession {
				t.Errorf("known %v after its token was taken away: %v, want %s", by, err, session.CodeNoSession)
			}
		}
		if c.Sees(admin, Admin, "a") {
			t.Error("a former admin token still administers")
		}
	}
}

func TestShow(t *testing.T) {
	c := newControl(t, Config{})
	for _, token := range []string{"", "robot", robotToken + "x", robotToken[1:]} {
		if by, ok := c.Show(Caller{}, token); ok || by.token != "" {
			t.Errorf("show %q = %v, %v, want nobody", token, by, ok)
		}
	}
	if by, ok := Open().Show(Caller{}, robotToken); ok {
		t.Errorf("show without tokens = %v, want nobody", by)
	}
}

// The session of a token knows which one of the name it was; that of an earlier version knows the
// name alone.
func TestSessionOfAToken(t *testing.T) {
	c := newControl(t, Config{Rules: []Rule{allow("token:robot", "lock", "*")}})
	robot, _ := c.Show(Caller{}, robotToken)
	var o session.Options
	c.Sign(robot, &o)
	older := session.Options{Meta: o.Meta}
	for _, tt := range []struct {
		tokens string
		now    bool
		before bool
	}{{"robot " + robotToken, true, true}, {"robot another-token-of-16", false, true}, {"other " + robotToken, false, false}} {
		tokens, err := ParseTokens([]byte(tt.tokens))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Set(Config{Tokens: tokens, Rules: []Rule{allow("token:robot", "lock", "*")}}); err != nil {
			t.Fatal(err)
		}
		for by, want := range map[*session.Options]bool{&o: tt.now, &older: tt.before} {
			if err := c.May(Caller{}.For(*by), Lock, "a"); (err == nil) != want {
				t.Errorf("with %q: %v, want allowed: %v", tt.tokens, err, want)
			}
		}
	}
}

// Over a Unix socket the user counts, whoever's session it speaks for.
func TestFor(t *testing.T) {
	o := session.Options{Key: "k", Meta: map[string]string{"a": "b"}}
	Open().Sign(Caller{token: "robot"}, &o)
	if o.Meta["a"] != "b" || o.Key == "k" {
		t.Errorf("signed options = %+v, want a key of the caller's own, and the meta kept", o)
	}
	if by := (Caller{}).For(o); by.token != "robot" {
		t.Errorf("for = %v, want robot", by)
	}
	if by := (Caller{token: "other"}).For(o); by.token != "other" {
		t.Errorf("for with a token of its own = %v, want other", by)
	}
	if by := unixCaller(1).For(o); by.token != "" {
		t.Errorf("for over a Unix socket = %v, want the user alone", by)
	}
	plain := session.Options{Key: "k"}
	Open().Sign(unixCaller(1), &plain)
	if plain.Key != "k" || plain.Meta != nil {
		t.Errorf("signed by a user = %+v, want it unchanged", plain)
	}
}

func TestBadRules(t *testing.T) {
	for _, tt := range []struct {
		rule Rule
		want string
	}{
		{Rule{}, "needs who, may and locks"},
		{Rule{Who: []string{"anyone"}, May: []string{"lock"}}, "needs who, may and locks"},
		{allow("alice", "lock", "a"), `"alice" is not user:NAME`},
		{allow("uid:5", "lock", "a"), "is not user:NAME"},
		{allow("user:", "lock", "a"), "needs a name"},
		{allow("anyone:x", "lock", "a"), "takes nothing after it"},
		{allow("user:no-such-user-here", "lock", "a"), `no user "no-such-user-here"`},
		{allow("group:no-such-group", "lock", "a"), `no group "no-such-group"`},
		{allow("user:-1", "lock", "a"), "no user"},
		{allow("anyone", "write", "a"), `"write" is not one of inspect, lock, admin`},
		{allow("anyone", "lock", "a*b"), "a * that is not at its end"},
		{allow("anyone", "lock", "**"), "a * that is not at its end"},
		{allow("anyone", "lock", "lockgw:x"), "must not begin with"},
		{Rule{[]string{"anyone"}, []string{"lock"}, []string{""}}, "name"},
		{allow("anyone", "lock", strings.Repeat("x", 256)+"*"), "the limit is 255"},
		{allow("anyone", "lock", "a}*"), "braces"},
	} {
		if err := tt.rule.Check(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: err = %v, want %q", tt.rule, err, tt.want)
		}
		c := newControl(t, Config{Rules: []Rule{allow("anyone", "inspect", "*")}})
		if err := c.Set(Config{Rules: []Rule{tt.rule}}); err == nil || c.Sees(Caller{}, Lock, "a") || !c.Sees(Caller{}, Inspect, "a") {
			t.Errorf("%v: set = %v, want an error and the old rules", tt.rule, err)
		}
	}
}

func TestNamesOfThisMachine(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Skip("this user has no name here")
	}
	p, err := parsePrincipal("user:" + me.Username)
	if err != nil || p.id != os.Getuid() {
		t.Errorf("user:%s = %+v, %v; want id %d", me.Username, p, err, os.Getuid())
	}
}

func TestBadTokens(t *testing.T) {
	const secret = "sesame-sesame-sesame"
	for _, tt := range []struct{ text, want string }{
		{"robot", "line 1 has 1 words"},
		{"# x\nrobot " + secret + " x", "line 2 has 3 words"},
		{"robot sesame", "a token of 6 characters"},
		{"ro:bot " + secret, "must begin with a name"},
		{strings.Repeat("r", 65) + " " + secret, "must begin with a name"},
		{"a " + secret + "\nb " + secret, "line 2 repeats the token of a"},
	} {
		_, err := ParseTokens([]byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: err = %v, want %q", tt.text, err, tt.want)
		} else if strings.Contains(err.Error(), "sesame") {
			t.Errorf("%q: the error %q tells the token", tt.text, err)
		}
	}
	twice, err := ParseTokens([]byte("a " + secret + "\na " + secret + "2"))
	if err != nil || len(twice.names) != 2 {
		t.Errorf("two tokens of one name: %d, %v; want both", len(twice.names), err)
	}
}

func TestCertificateHasToBeVerified(t *testing.T) {
	cert := &x509.Certificate{Subject: pkix.Name{CommonName: "a"}}
	by := Caller{}.WithCertificate(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}})
	if len(by.certs) != 0 {
		t.Errorf("names of a certificate that nobody verified = %q, want none", by.certs)
	}
	if by := certCaller(t, "a", "b", "x://y"); !slices.Equal(by.certs, []string{"a", "b", "x://y"}) {
		t.Errorf("names = %q", by.certs)
	}
}

// Who repeats the key of another one, by whatever it is known, gets no session of that one.
func TestKeyIsTheCallersOwn(t *testing.T) {
	keys := map[string]bool{}
	for _, by := range []Caller{{token: "a"}, {token: "b"}, certCaller(t, "a", "b", "x:"), certCaller(t, "c", "d", "x:")} {
		o := session.Options{Key: "k"}
		Open().Sign(by, &o)
		keys[o.Key] = true
	}
	if len(keys) != 4 {
		t.Errorf("the keys of four callers are %v", keys)
	}
}

// Who administers some names sees the sessions that are about those, and nobody else any.
func TestRestrict(t *testing.T) {
	c := newControl(t, Config{Rules: []Rule{allow("user:1000", "admin", "a/*"), allow("user:1001", "lock", "*"), allow("user:1002", "admin", "*")}})
	for uid, want := range map[int][]bool{1000: {true, false}, 1001: nil, 1002: {true, true}} {
		var q session.Query
		err := c.Restrict(unixCaller(uid), &q)
		if (err == nil) != (want != nil) {
			t.Errorf("user %d: %v", uid, err)
		}
		for i, name := range []string{"a/1", "b"}[:len(want)] {
			if sees := q.Sees == nil || q.Sees(name); sees != want[i] {
				t.Errorf("user %d sees %s: %v", uid, name, sees)
			}
		}
	}
}
