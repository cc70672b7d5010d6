package socket

import (
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
	"github.com/lockgw/lockgw/socket/resp"
)

func controlOf(t *testing.T, c access.Config) *access.Control {
	t.Helper()
	control, err := access.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return control
}

// withAccess has the gateway take everybody for the user 12345: tests may run as one
// who administers.
func withAccess(control *access.Control) func(*setup) {
	return func(o *setup) {
		o.socket.Access = control
		o.socket.peerOf = func(net.Conn) (session.Peer, error) {
			return session.Peer{PID: 1, UID: 12345, Command: "test"}, nil
		}
	}
}

const robot = "a-token-of-the-robot"

func robotRules(t *testing.T) access.Config {
	t.Helper()
	tokens, err := access.ParseTokens([]byte("robot " + robot))
	if err != nil {
		t.Fatal(err)
	}
	return access.Config{Tokens: tokens, Rules: []access.Rule{
		{Who: []string{"user:12345"}, May: []string{"lock"}, Locks: []string{"mine/*"}},
		{Who: []string{"user:12345"}, May: []string{"inspect"}, Locks: []string{"shown"}},
		{Who: []string{"token:robot"}, May: []string{"lock"}, Locks: []string{"*"}},
	}}
}

func TestAllow(t *testing.T) {
	control := controlOf(t, robotRules(t))
	g := start(t, withAccess(control))
	other := g.dial()
	other.want("OK", "AUTH", robot)
	other.lock("hidden")
	other.lock("shown")

	w := g.dial()
	w.lock("mine/a")
	for _, tt := range []struct {
		want string
		args []string
	}{
		{`NOAUTH lock "hidden": you (uid 12345, pid 1 (test)) may not lock it; of access.rules, rule 1 allows lock of mine/*; rule 2 allows inspect of shown`, []string{"LOCK", "hidden", "WAIT", "1"}},
		{"NOAUTH", []string{"LOCK", "shown"}},
		{"NOAUTH", []string{"LOCK", "mine"}},
		{"NOAUTH", []string{"LOCKINFO", "hidden"}},
		{"NOAUTH", []string{"SUBSCRIBE", "lock:shown", "lock:hidden"}},
		{"NOAUTH", []string{"BREAK", "mine/a", "FENCE", "1"}},
		{"NOAUTH", []string{"BREAK", "mine/a", "FENCE", "1", "TOKEN", robot}},
		{"NOAUTH", []string{"BREAK", "mine/a", "FENCE", "1", "TOKEN", "nonsense"}},
	} {
		w.wantError(tt.want, tt.args...)
	}
	if info, ok := w.do("LOCKINFO", "shown").([]any); !ok || len(info) == 0 {
		t.Errorf("LOCKINFO shown = %v, want it told", info)
	}
	if got, want := names(w.do("LOCKS")), []string{"mine/a", "shown"}; !reflect.DeepEqual(got, want) {
		t.Errorf("LOCKS = %q, want %q", got, want)
	}
	w.want("OK", "AUTH", robot)
	if got, want := names(w.do("LOCKS")), []string{"hidden", "mine/a", "shown"}; !reflect.DeepEqual(got, want) {
		t.Errorf("LOCKS with a token = %q, want %q", got, want)
	}
	w.want("RESET", "RESET")
	w.wantError("NOAUTH", "LOCKINFO", "hidden")
}

// names of the locks in a reply to LOCKS in RESP2.
func names(reply any) (all []string) {
	list, _ := reply.([]any)
	for _, item := range list {
		if flat, ok := item.([]any); ok && len(flat) > 1 {
			all = append(all, flat[1].(string))
		}
	}
	return all
}

// What a rule allowed can be given back after it is gone, and no more be taken.
func TestAllowAfterReload(t *testing.T) {
	control := controlOf(t, robotRules(t))
	g := start(t, withAccess(control))
	w := g.dial()
	w.lock("mine/a")
	robots := g.dial()
	robots.want("OK", "AUTH", robot)
	robots.lock("b")
	if err := control.Set(access.Config{Rules: []access.Rule{{Who: []string{"user:1"}, May: []string{"lock"}, Locks: []string{"*"}}, {Who: []string{"token:robot"}, May: []string{"lock"}, Locks: []string{"*"}}}}); err != nil {
		t.Fatal(err)
	}
	w.wantError("NOAUTH lock \"mine/a\": no rule of access.rules is about you", "LOCK", "mine/a")
	robots.wantError("NOAUTH", "LOCK", "b") // its token is none any more
	if ms, ok := w.do("RENEW", "mine/a").(int64); !ok || ms == 0 {
		t.Errorf("RENEW = %v, want what is left", ms)
	}
	w.want(int64(0), "UNLOCK", "mine/a")
}

// Who has shown a token that was replaced under its name shows the next one.
func TestReplacedToken(t *testing.T) {
	config := robotRules(t)
	control := controlOf(t, config)
	g := start(t, withAccess(control))
	robots := g.dial()
	robots.want("OK", "AUTH", robot)
	robots.lock("b")
	const next = "the-next-of-the-robot"
	var err error
	if config.Tokens, err = access.ParseTokens([]byte("robot " + next)); err != nil {
		t.Fatal(err)
	}
	if err := control.Set(config); err != nil {
		t.Fatal(err)
	}
	robots.wantError("NOAUTH", "LOCK", "c")
	robots.want("OK", "AUTH", next)
	robots.lock("c")
	robots.want(int64(0), "UNLOCK", "b")
}

func TestEventsAreFiltered(t *testing.T) {
	g := start(t, withAccess(controlOf(t, robotRules(t))))
	robots := g.dial()
	robots.want("OK", "AUTH", robot)
	w := g.dial()
	w.do("PSUBSCRIBE", "lock:*")
	robots.lock("hidden")
	robots.lock("shown")
	if message, _ := w.read().([]any); len(message) != 4 || !strings.Contains(message[3].(string), `"lock":"shown"`) {
		t.Errorf("message = %v, want of shown first", message)
	}
}

// Who asks too often is refused, whatever the connection, and can give back.
func TestRate(t *testing.T) {
	g := start(t, withAccess(controlOf(t, access.Config{Rate: access.Rate{PerSecond: 1, Burst: 3}})))
	w := g.dial()
	w.lock("a")
	eventually(t, "a refusal", func() bool {
		e, _ := w.do("LOCK", "a").(resp.Error)
		return strings.HasPrefix(string(e), "BUSY more than 1 requests a second (limits.requests_per_second); try again in ")
	})
	eventually(t, "a refusal on another connection", func() bool {
		e, _ := g.dial().do("LOCKINFO", "a").(resp.Error)
		return strings.HasPrefix(string(e), "BUSY")
	})
	eventually(t, "a refusal to release what is not held", func() bool {
		e, _ := w.do("UNLOCK", "b").(resp.Error)
		return strings.HasPrefix(string(e), "BUSY")
	})
	w.want(int64(0), "UNLOCK", "a", "ALL")
	eventually(t, "a refusal to look at processes", func() bool {
		e, _ := w.do("SESSION", "NEW", "BIND", "pid:2147483647").(resp.Error) // there is none
		return strings.HasPrefix(string(e), "BUSY")
	})
	eventually(t, "a refusal of new sessions", func() bool {
		w.want("RESET", "RESET")
		e, _ := w.do("SESSION", "INFO").(resp.Error)
		return strings.HasPrefix(string(e), "BUSY")
	})
}
