package run

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// Who has left the group of the command is asked to end as well, once: by its parent, which may
// pass the signal on, and by the run if the parent has ended.
func TestStraysAreAsked(t *testing.T) {
	const counts = `n=0; trap 'n=$((n+1)); echo $n >asked' TERM; until test -e asked; do sleep 0.01; done; for i in 1 2 3 4 5 6 7 8 9; do sleep 0.05; done`
	for name, script := range map[string]string{
		"left alone by its parent":      `setsid -w sh -c "$COUNTS"; :`,
		"of timeout":                    `timeout 600 sh -c "$COUNTS"; :`,
		"of a run inside":               `lockgw run inside -- sh -c "$COUNTS"; :`,
		"of a run inside that is alone": `exec lockgw run inside -- sh -c "$COUNTS"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			// A busy machine takes a second and more to start a run inside and the shell with its trap.
			cmd := exec.Command("lockgw", "run", "nightly", "--max-runtime", "5", "--kill-after", "20s", "--", "sh", "-c", script)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "COUNTS="+counts, "LOCKGW_SOCKET="+e2e.StartGateway(t))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			e2e.WantExit(t, cmd, cli.ExitMaxRuntime)
			if text, err := os.ReadFile(filepath.Join(dir, "asked")); string(text) != "1\n" {
				t.Errorf("it was asked %q times (%v), want once", text, err)
			}
		})
	}
}

// Who is begun while the command is being stopped, and leaves its group when its parent has ended,
// is stopped with it: it is below no process of the command then.
func TestStraysAreAdopted(t *testing.T) {
	dir := t.TempDir()
	// The trap ends the command, and leaves behind who goes into a session of its own after that.
	const late = `echo $$ >late; until read -r _ _ _ parent _ </proc/$$/stat && test $parent != $PARENT; do :; done; exec setsid sleep 60`
	const script = `export PARENT=$$; trap 'sh -c "$LATE" & exit' TERM; : >up; while :; do sleep 0.01; done`
	cmd := exec.Command("lockgw", "run", "nightly", "--max-runtime", "1", "--", "sh", "-c", script)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "LATE="+late, "LOCKGW_SOCKET="+e2e.StartGateway(t))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e2e.WantExit(t, cmd, cli.ExitMaxRuntime)
	text, err := os.ReadFile(filepath.Join(dir, "late"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid == 0 {
		t.Fatalf("nobody was begun: %q, %v", text, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d goes on without the lock (%v)", pid, err)
	}
}

// Nobody is begun between the last look and the end of the command, who would go on: neither where
// it is killed, nor where a guardian without a run asks it to end.
func TestStraysStandStill(t *testing.T) {
	for name, stop := range map[string]func(*process) error{
		"killed": (*process).killAll,
		"asked": func(p *process) error {
			kill, err := boottime.New()
			if err == nil {
				defer kill.Close()
				l := &escalation{p: p, o: &options{signal: syscall.SIGTERM, killAfter: time.Minute}, r: &report{quiet: true, w: io.Discard}, alarm: kill, apart: true}
				l.begin(cli.ExitMaxRuntime, 0, "it is over")
				l.finish()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { standStill(t, stop) })
	}
}

func standStill(t *testing.T, stop func(*process) error) {
	file := filepath.Join(t.TempDir(), "pids")
	cmd := exec.Command("sh", "-c", `while :; do setsid sh -c 'echo $$ >>$0; exec sleep 60' $0 & sleep 0.003; done`, file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	begun := func() []string {
		text, _ := os.ReadFile(file)
		return strings.Fields(string(text))
	}
	e2e.Until(func() bool { return len(begun()) > 100 })
	p := &process{pid: cmd.Process.Pid, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	if err := stop(p); err != nil {
		t.Error(err)
	}
	<-p.done
	for _, text := range begun() {
		pid, _ := strconv.Atoi(text)
		for end := time.Now().Add(5 * time.Second); e2e.Running(pid) && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
		if e2e.Running(pid) {
			t.Errorf("process %d goes on", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// A guardian that has ended without a word may have started the command.
func TestStartIsUndone(t *testing.T) {
	ours, theirs, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	mute := exec.Command("start-and-end", strconv.Itoa(theirs))
	if err := errors.Join(mute.Start(), unix.Close(theirs)); err != nil {
		t.Fatal(err)
	}
	k := &guardian{p: mute.Process, socket: ours, done: make(chan struct{})}
	go func() {
		_ = mute.Wait()
		close(k.done)
	}()
	file := filepath.Join(t.TempDir(), "pid")
	if _, err := k.start(startOrder{Path: "/bin/sh", Argv: []string{"sh", "-c", `echo $$ >$0.new; mv $0.new $0; exec sleep 60`, file}}); err == nil {
		t.Fatal("the command counts as started")
	}
	text, err := os.ReadFile(file)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid == 0 {
		t.Fatalf("the command was not started: %q, %v", text, err)
	}
	e2e.Until(func() bool { return !e2e.Running(pid) })
	if e2e.Running(pid) {
		t.Error("the command goes on without the lock")
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	_, _ = unix.Wait4(pid, nil, 0, nil) // unless that was done when it was looked for
}

func init() {
	programs["start-and-end"] = func() {
		fd, _ := strconv.Atoi(os.Args[1])
		unix.CloseOnExec(fd)
		var o startOrder
		_ = gob.NewDecoder(os.NewFile(uintptr(fd), "run")).Decode(&o)
		_, _ = o.start()
		e2e.Until(func() bool { return cli.Exists(o.Argv[len(o.Argv)-1]) })
	}
	programs["children-of-1"] = func() { fmt.Print(childrenOf(1)) }
}

// With the /proc of another namespace the numbers there are those of other processes.
func TestStraysNeedTheirOwnProc(t *testing.T) {
	cmd := exec.Command("children-of-1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "[]" {
		t.Errorf("as the first process of a namespace it has children %s (%v), want none", out, err)
	}
}
