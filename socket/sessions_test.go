package socket

import (
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// A connection needs no session until it does something that does.
func TestLazySession(t *testing.T) {
	g := start(t)
	w := g.dial3()
	for _, args := range [][]string{
		{"PING"}, {"LOCKINFO", "a"}, {"LOCKS"}, {"UNLOCK", "a"}, {"RENEW", "a"}, {"INFO"}, {"COMMAND"}, {"LOCK", "bad name"},
		{"SUBSCRIBE", "lock:a"}, {"UNSUBSCRIBE", "lock:a"},
	} {
		w.do(args...)
	}
	if n := g.m.Stats().Sessions; n != 0 {
		t.Errorf("%d sessions, want none yet", n)
	}
	w.lock("a")
	w.lock("b")
	if n := g.m.Stats().Sessions; n != 1 {
		t.Errorf("%d sessions after two locks, want 1", n)
	}
}

// SESSION INFO tells the token to whom it opens the session for, once.
func (w *wire) token() string {
	w.t.Helper()
	info, _ := w.do("SESSION", "INFO").(map[string]any)
	token, _ := info["token"].(string)
	if len(token) != 43 {
		w.t.Fatalf("SESSION INFO = %v, want a token of 43 characters", info)
	}
	return token
}

func TestSessionInfo(t *testing.T) {
	g := start(t)
	w := g.dial3()
	w.want("OK", "CLIENT", "SETNAME", "backup")
	w.token()
	fence := w.lock("a", "NOTE", "why")
	info := w.do("SESSION", "INFO").(map[string]any)
	if info["token"] != nil {
		t.Error("the token is told a second time")
	}
	if info["name"] != "backup" || info["keepalive_ms"] != int64(0) || len(info["uuid"].(string)) != 36 || info["id"] == "" {
		t.Errorf("SESSION INFO = %v", info)
	}
	locks := info["locks"].([]any)
	if len(locks) != 1 {
		t.Fatalf("locks = %v, want one", locks)
	}
	hold := locks[0].(map[string]any)
	if hold["name"] != "a" || hold["fence"] != fence || hold["note"] != "why" || hold["valid_until_boottime_ns"] == int64(0) {
		t.Errorf("hold = %v", hold)
	}
	other := g.dial3()
	other.want("OK", "AUTH", func() string { w.want("OK", "SESSION", "END"); return w.token() }())
	other.lock("b")
	w.send("LOCK", "b", "WAIT", "60", "THREAD", "2")
	g.waiters(1)
	if queues := other.do("SESSION", "INFO").(map[string]any)["queues"].([]any); len(queues) != 1 ||
		queues[0].(map[string]any)["name"] != "b" || queues[0].(map[string]any)["thread"] != int64(2) {
		t.Errorf("queues = %v, want b by thread 2", queues)
	}
}

// The three ways to join a session, and its end with its last connection.
func TestJoin(t *testing.T) {
	for name, join := range map[string]func(w *wire, token string){
		"AUTH":           func(w *wire, token string) { w.want("OK", "AUTH", token) },
		"AUTH default":   func(w *wire, token string) { w.want("OK", "AUTH", "default", token) },
		"SESSION ATTACH": func(w *wire, token string) { w.want("OK", "session", "attach", token) },
		"HELLO": func(w *wire, token string) {
			if _, ok := w.do("HELLO", "3", "AUTH", "default", token, "SETNAME", "me").(map[string]any); !ok {
				w.t.Error("HELLO 3 AUTH is answered by no map")
			}
			w.want("me", "CLIENT", "GETNAME")
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t)
			a, b, stranger := g.dial3(), g.dial(), g.dial()
			token := a.token()
			fence := a.lock("a")
			join(b, token)
			join(b, token) // again: nothing happens
			b.want(fence, "LOCK", "a")
			a.Close()
			stranger.want(nil, "LOCK", "a", "WAIT", "0.02")
			b.want(int64(1), "UNLOCK", "a")
			b.Close()
			eventually(t, "the session has ended", func() bool { return g.m.Stats().Sessions == 1 })
			stranger.wantError("NOSESSION the session has ended: connection closed", "AUTH", token)
			stranger.lock("a")
		})
	}
}

// keptAlive is a session that lives by commands alone, of which none came from another
// connection for longer than its keepalive; nil: the machine was too slow.
func (g *gateway) keptAlive(keepalive time.Duration) (w *wire, token string) {
	g.t.Helper()
	w = g.dial()
	token, _ = w.do("SESSION", "NEW", "KEEPALIVE", fmt.Sprint(keepalive.Seconds())).(string)
	if len(token) != 43 {
		g.t.Fatalf("SESSION NEW = %q, want a token", token)
	}
	last := time.Now()
	w.Close() // the session has another proof of life
	w = g.dial()
	for i, command := range [][]string{{"AUTH", token}, {"LOCK", "a", "WAIT", "60"}, {"PING"}, {"PING"}, {"PING"}, {"UNLOCK", "a"}} {
		if i > 0 {
			time.Sleep(keepalive / 4) // in all longer than the keepalive: each command is a sign of life
		}
		sent := time.Now()
		got := fmt.Sprint(w.do(command...))
		if silent := time.Since(last); silent >= keepalive {
			return nil, ""
		}
		if last = sent; strings.HasPrefix(got, "NOSESSION") || strings.HasPrefix(got, "LOST") {
			g.t.Fatalf("%s = %s", command[0], got)
		}
	}
	return w, token
}

func TestSessionKeepalive(t *testing.T) {
	g := start(t)
	var w *wire
	var token string
	keepalive := time.Second
	for ; ; keepalive *= 3 { // a busy machine may be silent itself
		if w, token = g.keptAlive(keepalive); w != nil {
			break
		}
	}
	w.lock("a")
	eventually(t, "silence ends the session", func() bool { return g.m.Stats().Holds == 0 })
	w.wantError("NOSESSION the session has ended: no request for "+keepalive.String(), "UNLOCK", "a")
	w.wantError("NOSESSION ", "LOCK", "a")
	w.wantError("NOSESSION ", "SESSION", "INFO")
	w.wantError("NOSESSION ", "AUTH", token)
	w.want("OK", "SESSION", "END") // from here on the connection is as it was at first
	w.lock("a")
}

func TestSessionDefaultKeepalive(t *testing.T) {
	w := start(t, func(o *setup) { o.session.Session.Keepalive = 42 * time.Second }).dial3()
	w.do("SESSION", "NEW")
	if info := w.do("SESSION", "INFO").(map[string]any); info["keepalive_ms"] != int64(42_000) {
		t.Errorf("keepalive_ms = %v, want 42000", info["keepalive_ms"])
	}
}

func TestSessionEnd(t *testing.T) {
	g := start(t)
	a, b := g.dial(), g.dial()
	a.lock("a")
	a.lock("b")
	a.want("OK", "SESSION", "END")
	b.lock("a")
	b.lock("b")
	a.wantError("NOTHELD ", "UNLOCK", "a")
	if a.lock("c"); g.m.Stats().Sessions != 2 {
		t.Errorf("%d sessions, want one for each connection", g.m.Stats().Sessions)
	}
}

// To join another session would release what this connection holds.
func TestJoinWhileHolding(t *testing.T) {
	g := start(t)
	a, b := g.dial3(), g.dial3()
	token := a.token()
	b.lock("b")
	for _, args := range [][]string{
		{"AUTH", token}, {"SESSION", "ATTACH", token}, {"SESSION", "NEW"}, {"HELLO", "2", "AUTH", "default", token},
	} {
		b.wantError("CONFLICT this connection's session holds locks", args...)
	}
	b.want(nil, "CLIENT", "GETNAME") // RESP3 still: the HELLO has changed nothing
	b.want(int64(0), "UNLOCK", "b")
	b.want("OK", "AUTH", token)
	if n := g.m.Stats().Sessions; n != 1 {
		t.Errorf("%d sessions, want the empty one to have ended", n)
	}
	b.lock("b")
	b.want("OK", "SESSION", "END")
	a.wantError("NOSESSION the session has ended: ended by its client", "LOCK", "b")
}

func TestReset(t *testing.T) {
	g := start(t)
	w := g.dial3()
	w.want("OK", "CLIENT", "SETNAME", "x")
	w.do("SUBSCRIBE", "lock:a")
	w.send("LOCK", "a")
	w.read() // the reply and the message about it, in either order
	w.read()
	for {
		w.send("RESET")
		if got := w.read(); got == "RESET" {
			break
		} else if !strings.Contains(strings.ToLower(reflect.TypeOf(got).String()), "push") {
			t.Fatalf("RESET = %v", got)
		}
	}
	if st := g.m.Stats(); st.Holds != 0 || st.Sessions != 0 {
		t.Errorf("after RESET there are %+v, want nothing", st)
	}
	w.send("CLIENT", "GETNAME")
	if b, err := w.r.Peek(3); err != nil || string(b) != "$-1" {
		t.Errorf("GETNAME after RESET begins with %q, want the null of RESP2", b)
	}
}

// A session limit is told, not hidden.
func TestTooManySessions(t *testing.T) {
	g := start(t, func(o *setup) { o.session.Limits = session.Limits{Sessions: 1, HoldsPerSession: 2} })
	a, b := g.dial(), g.dial()
	a.lock("a")
	b.wantError("BUSY ", "LOCK", "b")
	a.lock("b")
	a.wantError(`BUSY lock "c": `, "LOCK", "c")
	a.Close()
	eventually(t, "the next session can be opened", func() bool { n, _ := b.do("LOCK", "b").(int64); return n != 0 })
}

// A session that is bound to a process lives as long as that, whatever becomes of
// its connections.
func TestSessionOfProcess(t *testing.T) {
	g := start(t)
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	w := g.dial()
	for arg, want := range map[string]string{
		"": "INVALID bind: must be pid:", "4711": "INVALID bind: must be pid:", "pid:": "INVALID bind: must be pid:",
		"pid:0": "INVALID bind: must be pid:", "pid:x": "INVALID bind: must be pid:", "pid:4194305": "INVALID bind: there is no process",
	} {
		w.wantError(want, "SESSION", "NEW", "BIND", arg)
	}
	token, _ := w.do("SESSION", "NEW", "BIND", fmt.Sprint("pid:", child.Process.Pid)).(string)
	w.lock("a")
	w.Close()
	again := g.dial()
	again.want("OK", "AUTH", token)
	again.lock("b")
	again.Close()
	others := g.dial()
	others.want(nil, "LOCK", "a", "WAIT", "0.05")
	_ = child.Process.Kill()
	others.lock("a", "WAIT", "60")
	others.lock("b", "WAIT", "60")
}

// Whoever names itself is known by its connection.
func TestSessionOfOneself(t *testing.T) {
	g := start(t)
	w := g.dial()
	token, _ := w.do("SESSION", "NEW", "BIND", fmt.Sprint("pid:", os.Getpid())).(string)
	w.lock("a")
	w.Close()
	s, err := g.m.Lookup(session.Token(token))
	if err != nil || s.Options().Process.PID != os.Getpid() || len(s.Leases()) != 1 {
		t.Errorf("session = %+v, %v, want one that holds and lives as long as this process", s, err)
	}
}

// SESSION SHOW says whose the holds are: a process of the same user, known to the kernel.
func TestSessionShow(t *testing.T) {
	g := start(t)
	w := g.dial3()
	w.wantError("NOSESSION this connection has no session", "SESSION", "SHOW", "pid:1")
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.lock("a")
	w.want("OK", "SESSION", "SHOW", fmt.Sprintf("pid:%d", cmd.Process.Pid))
	holder, _ := w.do("LOCKINFO", "a").(map[string]any)["holder"].(map[string]any)
	by, _ := holder["asked_by"].(map[string]any)
	if holder["pid"] != int64(cmd.Process.Pid) || holder["command"] != "sleep" || by["pid"] != int64(os.Getpid()) {
		t.Errorf("holder %v, want pid %d (sleep), asked for by this process", holder, cmd.Process.Pid)
	}
	listener := g.dial()
	listener.do("SUBSCRIBE", "lock:a")
	w.want(int64(0), "UNLOCK", "a")
	told := listener.event("message", "lock:a").Holder
	if told == nil || told.PID != cmd.Process.Pid || told.AskedBy == nil || *told.AskedBy != (session.Peer{PID: os.Getpid(), UID: os.Getuid(), Command: told.AskedBy.Command}) {
		t.Errorf("the event is of %+v, want the same holder, and who asked", told)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for _, bad := range []string{"1", "pid:", "pid:0", fmt.Sprintf("pid:%d", cmd.Process.Pid)} {
		if err, ok := w.do("SESSION", "SHOW", bad).(error); !ok || !strings.HasPrefix(err.Error(), "INVALID") {
			t.Errorf("SESSION SHOW %s = %v, want INVALID", bad, err)
		}
	}
}

// A session that lives by more than its connections keeps its locks while its connection joins
// another one.
func TestJoinFromASessionThatLivesOn(t *testing.T) {
	g := start(t)
	other := g.dial3().token()
	for _, by := range [][]string{{"KEEPALIVE", "600"}, {"BIND", fmt.Sprintf("pid:%d", os.Getpid())}} {
		w := g.dial()
		w.do(append([]string{"SESSION", "NEW"}, by...)...)
		w.lock(by[0])
		w.want("OK", "AUTH", other)
		g.dial().want(nil, "LOCK", by[0], "WAIT", "0.02")
	}
}
