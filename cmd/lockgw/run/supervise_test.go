package run

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

// supervised runs script under the lock a of f. happens is called when the script has made
// the file $UP; a script goes on until there is the file $GO, which goOn makes.
func supervised(t *testing.T, f *fake, script string, happens func(goOn func(), said func() string)) (code int, told string) {
	t.Helper()
	dir := t.TempDir()
	up, on := filepath.Join(dir, "up"), filepath.Join(dir, "go")
	t.Setenv("UP", up)
	t.Setenv("GO", on)
	o := &options{names: []string{"a"}, argv: []string{"sh", "-c", script}, signal: syscall.SIGTERM, killAfter: 200 * time.Millisecond}
	h, err := acquireFrom(t, f, o)
	if err != nil {
		t.Fatal(err)
	}
	var out spoken
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e2e.Until(func() bool { return cli.Exists(up) })
		happens(func() { _ = os.WriteFile(on, nil, 0o600) }, out.String)
	}()
	got, err := supervise(o, &report{w: &out}, "/bin/sh", testGuardian(t), h, make(chan os.Signal, 16))
	if err != nil {
		t.Fatal(err)
	}
	<-ended
	return got.code, out.String()
}

// spoken is what a run says, to be read at any time.
type spoken struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (s *spoken) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *spoken) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

const untilGo = `: >$UP; while ! [ -e $GO ]; do sleep 0.01; done; exit 3`

func TestSuperviseEnd(t *testing.T) {
	f := newFake(t)
	f.lease = time.Hour
	if code, told := supervised(t, f, untilGo, func(goOn func(), _ func() string) { goOn() }); code != 3 || told != "" {
		t.Errorf("exit code %d, told %q, want that of the command and nothing", code, told)
	}
}

// A loss that is told stops the command, also one that does not follow TERM.
func TestSuperviseLoss(t *testing.T) {
	for name, script := range map[string]string{"follows": untilGo, "does not": `trap "" TERM; ` + untilGo} {
		f := newFake(t)
		f.lease = time.Hour
		code, told := supervised(t, f, script, func(func(), func() string) {
			f.newest().options.OnNotice(client.Notice{Kind: client.Lost, Lock: "a", Fence: 1, Reason: "broken"})
		})
		if code != cli.ExitLost || !strings.Contains(told, "a (fence 1) was lost: broken") {
			t.Errorf("%s: exit code %d, told %q, want %d and the loss", name, code, told, cli.ExitLost)
		}
		if killed := strings.Contains(told, "killing it"); killed != (name == "does not") {
			t.Errorf("%s TERM: killed = %v: %q", name, killed, told)
		}
	}
}

// A gateway that says nothing more: the command is gone at the deadline.
func TestSuperviseSilence(t *testing.T) {
	f := newFake(t)
	f.lease = 3 * time.Second
	var deadline time.Duration
	code, told := supervised(t, f, `trap "" TERM; `+untilGo, func(func(), func() string) {
		f.set(func() { deadline, f.lease = session.Boottime()+f.lease, 0 })
	})
	if code != cli.ExitLost || !strings.Contains(told, "could not be renewed") || !strings.Contains(told, "killing it") {
		t.Errorf("exit code %d, told %q, want %d and why", code, told, cli.ExitLost)
	}
	if late := session.Boottime() - deadline; late > 20*time.Second { // who waits for the end may be late on a busy machine
		t.Errorf("the command has ended %v after the deadline", late)
	}
}

// A hold that is missing in a reading is lost.
func TestSuperviseMissing(t *testing.T) {
	f := newFake(t)
	f.lease = 6 * time.Second
	code, told := supervised(t, f, untilGo, func(func(), func() string) { f.set(func() { f.holds = nil }) })
	if code != cli.ExitLost || !strings.Contains(told, "does not know the locks any more") {
		t.Errorf("exit code %d, told %q, want %d", code, told, cli.ExitLost)
	}
}

// A bound session outlives its connection, and is asked over the next one.
func TestSuperviseReconnects(t *testing.T) {
	f := newFake(t)
	f.lease = 30 * time.Second
	code, told := supervised(t, f, untilGo, func(goOn func(), _ func() string) {
		f.newest().Close()
		e2e.Until(func() bool { return f.dials() == 2 })
		goOn()
	})
	if code != 3 {
		t.Errorf("exit code %d, told %q, want that of the command", code, told)
	}
	if got := f.newest().options.Token; got != "token" {
		t.Errorf("the next connection has joined %q, want the session", got.Secret())
	}
}

// What ends a session, or a session that lives by its connection, ends the command.
func TestSuperviseSessionEnds(t *testing.T) {
	for name, prepare := range map[string]func(f *fake){
		"the session is gone": func(f *fake) { f.session = refusal("NOSESSION") },
		"so is its token":     func(f *fake) { f.refuse = refusal("NOSESSION") },
		"it was not bound":    func(*fake) {},
	} {
		f := newFake(t)
		f.lease = time.Hour
		if name == "it was not bound" {
			f.bind = refusal("UNSUPPORTED")
		}
		code, told := supervised(t, f, untilGo, func(func(), func() string) {
			f.set(func() { prepare(f) })
			f.newest().Close()
		})
		if code != cli.ExitLost {
			t.Errorf("%s: exit code %d, told %q, want %d", name, code, told, cli.ExitLost)
		}
	}
}

// That a jeopardy is over is told after a reading with a later deadline.
func TestSuperviseJeopardy(t *testing.T) {
	f := newFake(t)
	f.lease = time.Hour
	code, told := supervised(t, f, untilGo, func(goOn func(), said func() string) {
		f.set(func() { f.lease += time.Minute })
		f.newest().options.OnNotice(client.Notice{Kind: client.Jeopardy, Lock: "a", Fence: 1, Reason: "no answer"})
		e2e.Until(func() bool { return strings.Contains(said(), "renewed again") })
		goOn()
	})
	if code != 3 || !strings.Contains(told, "a is in jeopardy: no answer") || !strings.Contains(told, "renewed again") {
		t.Errorf("exit code %d, told %q, want the jeopardy and its end", code, told)
	}
}

// After a run that was killed its guardian stops the command as the run would have.
func TestGuardianTakesOver(t *testing.T) {
	for name, happens := range map[string]func(f *fake){
		"lost": func(f *fake) {
			f.newest().options.OnNotice(client.Notice{Kind: client.Lost, Lock: "a", Reason: "broken"})
		},
		"missing":    func(f *fake) { f.set(func() { f.holds = nil }) },
		"silent":     func(f *fake) { f.set(func() { f.lease = 0 }) },
		"no session": func(f *fake) { f.set(func() { f.session = refusal("NOSESSION") }) },
	} {
		f := newFake(t)
		f.lease = time.Second
		f.holds = []client.Hold{{Name: "a", Fence: 1}}
		p, err := testGuardian(t).start(startOrder{Path: "/bin/sleep", Argv: []string{"sleep", "600"}})
		if err != nil {
			t.Fatal(err)
		}
		h := newHold(&options{dial: f.dial, signal: syscall.SIGTERM, killAfter: 200 * time.Millisecond})
		h.token, h.bound = "token", true
		h.views = []client.Hold{{Name: "a", Fence: 1, Left: time.Second, Deadline: session.Boottime() + time.Second}}
		go func() {
			e2e.Until(func() bool { return f.dials() > 0 })
			happens(f)
		}()
		if err := h.guard(p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := p.exitCode(); got != 128+int(syscall.SIGTERM) {
			t.Errorf("%s: exit code of the command = %d, want that of TERM", name, got)
		}
	}
}
