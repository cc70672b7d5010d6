package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket"
)

func TestEarliest(t *testing.T) {
	a, b := session.View{Name: "a", Deadline: 20}, session.View{Name: "b", Deadline: 10}
	for _, tt := range []struct {
		names []string
		holds []session.View
		want  time.Duration
		all   bool
	}{
		{[]string{"a"}, []session.View{a}, 20, true},
		{[]string{"a", "b"}, []session.View{b, a}, 10, true},
		{[]string{"a"}, []session.View{b, a}, 20, true},
		{[]string{"a", "b"}, []session.View{a}, 0, false},
		{[]string{"a"}, nil, 0, false},
	} {
		got, all := earliest(tt.names, tt.holds)
		if got != tt.want || all != tt.all {
			t.Errorf("earliest(%v, %v) = %d, %v; want %d, %v", tt.names, tt.holds, got, all, tt.want, tt.all)
		}
	}
}

func testHold(names ...string) *hold {
	h := newHold(&runOptions{})
	h.token, h.socket, h.owner = "secret", "/s", "u:1"
	h.client.Store(&socket.Client{})
	for i, name := range names {
		h.views = append(h.views, session.View{Name: name, Owner: "u:1", Fence: backend.Fence(7 + i)})
	}
	return h
}

// The guard asks once more before it gives up, and a new deadline starts afresh.
func TestGuard(t *testing.T) {
	a, err := newAlarm()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	now := session.Boottime()
	g := &guard{h: testHold("a"), alarm: a, grace: time.Second}
	holds := func(deadline time.Duration) []session.View { return []session.View{{Name: "a", Deadline: deadline}} }

	if !g.update(holds(now+time.Hour)) || !g.safe() || g.due() {
		t.Fatalf("an hour before the deadline: safe = %v, want nothing to be due", g.safe())
	}
	if !g.update(holds(now+time.Second/2)) || g.safe() {
		t.Fatal("inside the grace it is safe still")
	}
	if g.due() {
		t.Error("due without having asked")
	}
	select {
	case <-g.h.poke:
	default:
		t.Error("the alarm has asked for no reading")
	}
	if !g.due() {
		t.Error("not due, though no reading has come")
	}
	g.update(holds(now + time.Second/2))
	if !g.due() {
		t.Error("not due after a reading with the same deadline")
	}
	g.update(holds(now + time.Second*3/4))
	if g.due() {
		t.Error("due after a later deadline, without having asked again")
	}
	if g.update(nil) {
		t.Error("a reading without the lock was taken for good")
	}
}

func TestGuardTimes(t *testing.T) {
	for _, tt := range []struct{ ttl, killAfter, grace, margin time.Duration }{
		{30 * time.Second, 10 * time.Second, 10500 * time.Millisecond, 500 * time.Millisecond},
		{30 * time.Second, time.Minute, 10500 * time.Millisecond, 500 * time.Millisecond},
		{30 * time.Second, 4 * time.Second, 4500 * time.Millisecond, 500 * time.Millisecond},
		{time.Second, 0, 200 * time.Millisecond, 100 * time.Millisecond},
	} {
		h := testHold("a", "b")
		h.views[0].Left, h.views[1].Left = tt.ttl+time.Second, tt.ttl
		h.views[0].Deadline, h.views[1].Deadline = session.Boottime()+time.Hour, session.Boottime()+time.Hour
		g, err := newGuard(&runOptions{killAfter: tt.killAfter}, h)
		if err != nil {
			t.Fatal(err)
		}
		if g.grace != tt.grace || g.margin != tt.margin {
			t.Errorf("ttl %v, kill after %v: grace, margin = %v, %v; want %v, %v", tt.ttl, tt.killAfter, g.grace, g.margin, tt.grace, tt.margin)
		}
		if got, want := g.killBy(), h.views[1].Deadline-tt.margin; got > want {
			t.Errorf("killBy is %v after the deadline less the margin", got-want)
		}
		g.Close()
		h.quit()
		h.wg.Wait()
	}
}

// Begun again, the ladder can only become faster, and its reason stays.
func TestLadder(t *testing.T) {
	kill, err := newAlarm()
	if err != nil {
		t.Fatal(err)
	}
	defer kill.Close()
	up := filepath.Join(t.TempDir(), "up")
	p, err := testKeeper(t).start(startOrder{Path: "/bin/sh", Env: os.Environ(), Argv: []string{"sh", "-c", `trap "" TERM; : >$0; while :; do sleep 0.01; done`, up}})
	if err != nil {
		t.Fatal(err)
	}
	until(func() bool { return exists(up) })
	var out strings.Builder
	l := &ladder{p: p, o: &runOptions{signal: syscall.SIGTERM, killAfter: time.Hour}, r: &report{w: &out}, alarm: kill}
	l.begin(exitMaxRuntime, session.Boottime()+time.Minute, "first")
	l.begin(exitLost, session.Boottime()+2*time.Hour, "slower")
	if got := l.killAt - session.Boottime(); got > time.Minute {
		t.Errorf("begun again it has become slower: kills in %v, want 1m", got)
	}
	l.begin(exitLost, session.Boottime()+50*time.Millisecond, "faster")
	select {
	case <-kill.C:
	case <-time.After(patience):
		t.Fatal("the alarm does not go off")
	}
	l.kill()
	<-p.done
	l.finish()
	if got := p.exitCode(); got != 137 {
		t.Errorf("exit code of the killed command = %d, want 137", got)
	}
	if l.code != exitMaxRuntime {
		t.Errorf("code = %d, want that of the first reason, %d", l.code, exitMaxRuntime)
	}
	if got := strings.Count(out.String(), "\n"); got != 2 {
		t.Errorf("reported %q, want the first reason and the kill", out.String())
	}
}

// The end of a group is seen even where nobody waits for orphans: as zombies they
// would count as alive.
func TestLadderFinish(t *testing.T) {
	kill, err := newAlarm()
	if err != nil {
		t.Fatal(err)
	}
	defer kill.Close()
	up := filepath.Join(t.TempDir(), "up")
	script := `sh -c 'trap "" TERM; : >$0; while :; do sleep 0.01; done' $0 & sleep 60`
	p, err := testKeeper(t).start(startOrder{Path: "/bin/sh", Env: os.Environ(), Argv: []string{"sh", "-c", script, up}})
	if err != nil {
		t.Fatal(err)
	}
	until(func() bool { return exists(up) })
	l := &ladder{p: p, o: &runOptions{signal: syscall.SIGTERM, killAfter: 50 * time.Millisecond}, r: &report{quiet: true, w: io.Discard}, alarm: kill}
	l.begin(exitLost, 0, "test")
	<-p.done
	if l.killed {
		t.Fatal("the leader has not followed TERM")
	}
	l.finish()
	if !l.killed {
		t.Error("finish has not killed the rest of the group")
	}
	if late := session.Boottime() - l.killAt; late > time.Second {
		t.Errorf("the end of the group was seen %v after the kill", late)
	}
}

// What happens between the grant and the start must not start the command.
func TestSuperviseNotStarted(t *testing.T) {
	for _, tt := range []struct {
		name    string
		prepare func(h *hold, signals chan os.Signal)
		want    int
	}{
		{"lost", func(h *hold, _ chan os.Signal) { h.lost <- socket.Notice{Lock: "a", Reason: "test"} }, exitLost},
		{"signal", func(_ *hold, signals chan os.Signal) { signals <- syscall.SIGTERM }, 143},
	} {
		h, signals, ran := testHold("a"), make(chan os.Signal, 1), filepath.Join(t.TempDir(), "ran")
		h.views[0].Left = time.Hour
		tt.prepare(h, signals)
		_, err := supervise(&runOptions{argv: []string{"touch", ran}}, &report{w: io.Discard}, "/usr/bin/touch", testKeeper(t), h, signals)
		if got, _ := exitCode(err); got != tt.want {
			t.Errorf("%s before the start: %v, exit code %d, want %d", tt.name, err, got, tt.want)
		}
		if exists(ran) {
			t.Errorf("%s before the start: the command was run", tt.name)
		}
		h.quit()
		h.wg.Wait()
	}
}

func TestChildEnv(t *testing.T) {
	env := []string{"A=1", "LOCKGW_TOKEN=old", "LOCKGW_FENCE=1", "LOCKGW_SOCKET=/old", "LOCKGW_LOCKX=stays"}
	got := childEnv(env, testHold("a", "b"))
	want := []string{"A=1", "LOCKGW_LOCKX=stays", "LOCKGW_LOCK=a b", "LOCKGW_FENCE=7 8", "LOCKGW_OWNER=u:1", "LOCKGW_TOKEN=secret", "LOCKGW_SOCKET=/s"}
	if !slices.Equal(got, want) {
		t.Errorf("with locks: %q, want %q", got, want)
	}
	got = childEnv(env, &hold{})
	want = []string{"A=1", "LOCKGW_SOCKET=/old", "LOCKGW_LOCKX=stays"}
	if !slices.Equal(got, want) {
		t.Errorf("without: %q, want %q", got, want)
	}
}

func TestWaitText(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	holder := &session.Holder{Node: "host-b", Peer: session.Peer{PID: 4411, Command: "backup.sh"}, Since: now.Add(-192 * time.Second)}
	queue := []session.Holder{{Owner: "other:1"}, {Owner: "me:1"}}
	for _, tt := range []struct {
		w    waitLine
		want string
	}{
		{
			waitLine{known: session.Status{Holder: holder, Queue: queue, Waiters: 3}, o: &runOptions{wait: 30 * time.Minute}},
			"waiting for nightly - held by host-b pid 4411 (backup.sh) for 3m12s - 2nd of 3 - gives up in 26m48s",
		},
		{waitLine{o: &runOptions{forever: true}}, "waiting for nightly"},
		{waitLine{known: session.Status{Queue: queue[:1]}, o: &runOptions{wait: time.Minute}}, "waiting for nightly - gives up in 0s"},
		{
			waitLine{known: session.Status{Holder: &session.Holder{Owner: "u:1", Note: "x"}}, o: &runOptions{forever: true}},
			"waiting for nightly - held by u:1",
		},
	} {
		tt.w.name, tt.w.owner, tt.w.start = "nightly", "me:1", now.Add(-192*time.Second)
		if got := tt.w.text(now); got != tt.want {
			t.Errorf("text = %q, want %q", got, tt.want)
		}
	}
}

func TestHolderText(t *testing.T) {
	for _, tt := range []struct {
		h    session.Holder
		want string
	}{
		{session.Holder{Node: "n", Peer: session.Peer{PID: 1, Command: "lockgw"}, Note: "job"}, "n pid 1 (job)"},
		{session.Holder{Node: "n", Peer: session.Peer{PID: 1, Command: "sh"}, Note: "job"}, "n pid 1 (sh)"},
		{session.Holder{Node: "n\x1b[2J", Owner: "u:1"}, "n?[2J"},
		{session.Holder{Owner: "u:1"}, "u:1"},
	} {
		if got := holderText(&tt.h); got != tt.want {
			t.Errorf("holderText(%+v) = %q, want %q", tt.h, got, tt.want)
		}
	}
}

func TestStartError(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{&exec.Error{Name: "x", Err: exec.ErrNotFound}, exitNotFound},
		{&exec.Error{Name: "x", Err: syscall.ENOENT}, exitNotFound},
		{syscall.EACCES, exitCannotExecute},
		{syscall.ENOEXEC, exitCannotExecute},
	} {
		if got, message := exitCode(startError("x", tt.err)); got != tt.want || !strings.HasPrefix(message, "cannot run x: ") {
			t.Errorf("startError(%v) = %d %q, want %d", tt.err, got, message, tt.want)
		}
	}
}

func TestGatewayError(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{&socket.Error{Word: "INVALID"}, exitUsage},
		{&socket.Error{Word: "UNSUPPORTED"}, exitUsage},
		{&socket.Error{Word: "UNAVAILABLE"}, exitUnavailable},
		{&socket.Error{Word: "DRAINING"}, exitUnavailable},
		{&socket.Error{Word: "BUSY"}, exitNotAcquired},
		{&socket.Error{Word: "LOST"}, exitLost},
		{&socket.Error{Word: "NOTHELD"}, exitRefused},
		{&socket.Error{Word: "NOSESSION"}, exitRefused},
		{fmt.Errorf("wrapped: %w", socket.ErrNotAcquired), exitNotAcquired},
		{exit(3, errors.New("x")), 3},
		{errors.New("connection refused"), exitUnavailable},
	} {
		if got, _ := exitCode(gatewayError("/s", tt.err)); got != tt.want {
			t.Errorf("exit code of %v = %d, want %d", tt.err, got, tt.want)
		}
	}
}

func TestConflict(t *testing.T) {
	if got, _ := exitCode(conflict(exit(exitNotAcquired, errors.New("x")), 0)); got != 0 {
		t.Errorf("not acquired with -E 0 = %d, want 0", got)
	}
	if got, _ := exitCode(conflict(exit(exitUnavailable, errors.New("x")), 0)); got != exitUnavailable {
		t.Errorf("unavailable with -E 0 = %d, want %d", got, exitUnavailable)
	}
}

func TestParseSignal(t *testing.T) {
	for text, want := range map[string]syscall.Signal{
		"TERM": syscall.SIGTERM, "SIGTERM": syscall.SIGTERM, "int": syscall.SIGINT, "9": syscall.SIGKILL, "USR1": syscall.SIGUSR1,
		"": 0, "0": 0, "SIG": 0, "NOSUCH": 0, "-9": 0, "09": 0, "64000": 0,
	} {
		got, err := parseSignal(text)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("parseSignal(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}
