package run

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/session"
)

// Begun again, the escalation can only become faster, and its reason stays.
func TestEscalation(t *testing.T) {
	kill, err := boottime.New()
	if err != nil {
		t.Fatal(err)
	}
	defer kill.Close()
	up := filepath.Join(t.TempDir(), "up")
	p, err := testGuardian(t).start(startOrder{Path: "/bin/sh", Env: os.Environ(), Argv: []string{"sh", "-c", `trap "" TERM; : >$0; while :; do sleep 0.01; done`, up}})
	if err != nil {
		t.Fatal(err)
	}
	e2e.Until(func() bool { return cli.Exists(up) })
	var out strings.Builder
	l := &escalation{p: p, o: &options{signal: syscall.SIGTERM, killAfter: time.Hour}, r: &report{w: &out}, alarm: kill}
	l.begin(cli.ExitMaxRuntime, session.Boottime()+time.Minute, "first")
	l.begin(cli.ExitLost, session.Boottime()+2*time.Hour, "slower")
	if got := l.killAt - session.Boottime(); got > time.Minute {
		t.Errorf("begun again it has become slower: kills in %v, want 1m", got)
	}
	l.begin(cli.ExitLost, session.Boottime()+50*time.Millisecond, "faster")
	l.later(session.Boottime() + time.Minute) // a reading that is older than the loss
	if got := l.killAt - session.Boottime(); got > time.Second {
		t.Errorf("a reading that comes after the loss has made it slower: kills in %v, want 50ms", got)
	}
	select {
	case <-kill.C:
	case <-time.After(e2e.Patience):
		t.Fatal("the alarm does not go off")
	}
	l.kill()
	<-p.done
	l.finish()
	if got := p.exitCode(); got != 137 {
		t.Errorf("exit code of the killed command = %d, want 137", got)
	}
	if l.code != cli.ExitMaxRuntime {
		t.Errorf("code = %d, want that of the first reason, %d", l.code, cli.ExitMaxRuntime)
	}
	if got := strings.Count(out.String(), "\n"); got != 2 {
		t.Errorf("reported %q, want the first reason and the kill", out.String())
	}
}

// The end of a group is seen even where nobody waits for orphans: as zombies they
// would count as alive.
func TestEscalationFinish(t *testing.T) {
	kill, err := boottime.New()
	if err != nil {
		t.Fatal(err)
	}
	defer kill.Close()
	up := filepath.Join(t.TempDir(), "up")
	script := `sh -c 'trap "" TERM; : >$0; while :; do sleep 0.01; done' $0 & sleep 60`
	p, err := testGuardian(t).start(startOrder{Path: "/bin/sh", Env: os.Environ(), Argv: []string{"sh", "-c", script, up}})
	if err != nil {
		t.Fatal(err)
	}
	e2e.Until(func() bool { return cli.Exists(up) })
	l := &escalation{p: p, o: &options{signal: syscall.SIGTERM, killAfter: 50 * time.Millisecond}, r: &report{quiet: true, w: io.Discard}, alarm: kill}
	l.begin(cli.ExitLost, 0, "test")
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
