package peer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/session"
)

// nobody is a uid that owns nothing.
const nobody = 65534

// start runs a program, as uid if that is not 0, until the test ends.
func start(t *testing.T, uid uint32, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(name, args...)
	if _, err := cmd.StdinPipe(); err != nil { // keeps nc from seeing the end of its input
		t.Fatal(err)
	}
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	return cmd
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
}

func me() session.Peer { return session.Peer{PID: os.Getpid(), UID: os.Getuid()} }

func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can start a process of another uid")
	}
}

func TestProcessEnds(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *exec.Cmd){
		"exit":    func(_ *testing.T, c *exec.Cmd) { c.Process.Signal(syscall.SIGTERM); c.Wait() },
		"kill -9": kill,
		"zombie": func(t *testing.T, c *exec.Cmd) {
			if err := c.Process.Kill(); err != nil { // and nobody waits for it
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			child := start(t, 0, "sleep", "60")
			alive, err := NewDescriptors().Process(child.Process.Pid, me())
			if err != nil {
				t.Fatal(err)
			}
			done := live(t.Context(), alive)
			stillLives(t, done)
			end(t, child)
			want := fmt.Sprintf("process %d has exited", child.Process.Pid)
			if err := ended(t, done); err.Error() != want {
				t.Errorf("err = %v, want %v", err, want)
			}
		})
	}
}

func TestProcessEndedBefore(t *testing.T) {
	child := start(t, 0, "sleep", "60")
	alive, err := NewDescriptors().Process(child.Process.Pid, me())
	if err != nil {
		t.Fatal(err)
	}
	kill(t, child)
	ended(t, live(t.Context(), alive))
}

func TestProcessContext(t *testing.T) {
	child := start(t, 0, "sleep", "60")
	alive, err := NewDescriptors().Process(child.Process.Pid, me())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := live(ctx, alive)
	stillLives(t, done)
	cancel()
	if err := ended(t, done); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want %v", err, context.Canceled)
	}
}

func TestProcessRefused(t *testing.T) {
	dead := start(t, 0, "sleep", "60")
	kill(t, dead)
	for name, test := range map[string]struct {
		pid  int
		by   session.Peer
		want string
	}{
		"zero":         {0, me(), "is no process id"},
		"negative":     {-1, me(), "is no process id"},
		"beyond int32": {1<<32 + os.Getpid(), me(), "there is no process"},
		"dead":         {dead.Process.Pid, me(), "there is no process"},
		"zombie":       {zombie(t), me(), "there is no process"},
		"thread":       {thread(t), me(), "is a thread"},
		"over TCP":     {os.Getpid(), session.NoPeer(), "over a Unix socket only"},
		"unknown pid":  {os.Getpid(), session.Peer{UID: os.Getuid()}, "pid namespace"},
		"caller dead":  {os.Getpid(), session.Peer{PID: dead.Process.Pid, UID: os.Getuid()}, "is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewDescriptors().Process(test.pid, test.by)
			refused(t, err, test.want)
		})
	}
}

// Each process that is watched costs a descriptor, and the limit is no defect.
func TestProcessWithoutDescriptor(t *testing.T) {
	if err := NewDescriptors().openError(12, unix.EMFILE); session.CodeOf(err) != session.CodeTooManySessions {
		t.Errorf("err = %v, want %s", err, session.CodeTooManySessions)
	}
	if err := NewDescriptors().openError(12, unix.EPERM); session.CodeOf(err) != session.CodeInternal {
		t.Errorf("err = %v, want %s", err, session.CodeInternal)
	}
}

// A poller without room for one more takes no pidfd, just as it takes none that blocks.
func TestProcessUnpolled(t *testing.T) {
	unpolled := func(t *testing.T) (*exec.Cmd, session.Liveness) {
		child := start(t, 0, "sleep", "60")
		pidfd, err := unix.PidfdOpen(child.Process.Pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		return child, watch(pidfd, "process", nil)
	}
	t.Run("ends", func(t *testing.T) {
		child, alive := unpolled(t)
		done := live(t.Context(), alive)
		stillLives(t, done)
		kill(t, child)
		if err := ended(t, done); err.Error() != "process has exited" {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("is given up", func(t *testing.T) {
		_, alive := unpolled(t)
		ctx, cancel := context.WithCancel(t.Context())
		done := live(ctx, alive)
		stillLives(t, done)
		cancel()
		if err := ended(t, done); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v, want %v", err, context.Canceled)
		}
	})
}

// Without a descriptor nothing can be read of a process, which says nothing against it.
func TestProcessUnread(t *testing.T) {
	pid := os.Getpid()
	pidfd, err := open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pidfd)
	withoutDescriptors(t, func() {
		_, identify := Identify(pid)
		_, named := Named(pid, me())
		_, process := NewDescriptors().Process(pid, me())
		for what, err := range map[string]error{"identify": identify, "named": named, "process": process, "allowed": allowed(pid, pidfd, me())} {
			if session.CodeOf(err) != session.CodeTooManySessions {
				t.Errorf("%s: err = %v, want %s", what, err, session.CodeTooManySessions)
			}
		}
	})
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	if session.CodeOf(err) != session.CodeInvalid || !strings.Contains(err.Error(), want) {
		t.Errorf("err = %v, want %s with %q", err, session.CodeInvalid, want)
	}
}

// zombie is a process that has exited and was not waited for.
func zombie(t *testing.T) int {
	t.Helper()
	pid := start(t, 0, "true").Process.Pid
	zombified(t, pid)
	return pid
}

func zombified(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); strings.Contains(string(b), ") Z ") {
			return
		}
	}
	t.Fatalf("process %d has not exited", pid)
}

// thread is the id of a thread of this process that is not the process.
func thread(t *testing.T) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		var tid int
		if fmt.Sscan(task.Name(), &tid); tid != os.Getpid() {
			return tid
		}
	}
	t.Fatal("a Go program with one thread")
	return 0
}

func TestProcessOfOtherUser(t *testing.T) {
	asRoot(t)
	own, others := start(t, nobody, "sleep", "60"), start(t, 0, "sleep", "60")
	user := session.Peer{PID: own.Process.Pid, UID: nobody}
	for name, by := range map[string]session.Peer{"the user": user, "root": me()} {
		alive, err := NewDescriptors().Process(own.Process.Pid, by)
		if err != nil {
			t.Errorf("%s names a user's process: %v", name, err)
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ended(t, live(ctx, alive)) // closes the descriptor
	}
	_, err := NewDescriptors().Process(others.Process.Pid, user)
	refused(t, err, "does not belong to uid")
	if _, err := Named(own.Process.Pid, user); err != nil {
		t.Errorf("the user names its process: %v", err)
	}
}

// Who names a process for people to see names one of its own, too.
func TestNamed(t *testing.T) {
	by := me()
	if p, err := Named(by.PID, by); err != nil || p.PID != by.PID {
		t.Errorf("its own process: %+v, %v", p, err)
	}
	by.UID = nobody
	_, err := Named(by.PID, by)
	refused(t, err, "does not belong to uid")
	by.UID = -1
	_, err = Named(by.PID, by)
	refused(t, err, "over a Unix socket only")
	by.PID, by.UID = 0, 0
	_, err = Named(os.Getpid(), by)
	refused(t, err, "run both in one pid namespace")
}

func TestProcessFromOtherNamespace(t *testing.T) {
	asRoot(t)
	outer := start(t, 0, "unshare", "--pid", "--fork", "--kill-child", "sleep", "60")
	inner := onlyChild(t, outer.Process.Pid)
	_, err := NewDescriptors().Process(os.Getpid(), session.Peer{PID: inner, UID: os.Getuid()})
	refused(t, err, "pid namespace")
}

func onlyChild(t *testing.T, pid int) (child int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if n, _ := fmt.Sscan(string(b), &child); n == 1 {
			return child
		}
	}
	t.Skip("unshare has started nothing: no right to make a pid namespace")
	return 0
}

// Descriptors, threads: one watch too many would add up over the life of a
// gateway.
func TestProcessCost(t *testing.T) {
	const watches = 100
	child := start(t, 0, "sleep", "60")
	fds, threads := count(t, "fd"), count(t, "task")
	var done []<-chan error
	for range watches {
		alive, err := NewDescriptors().Process(child.Process.Pid, me())
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, live(t.Context(), alive))
	}
	stillLives(t, done[watches-1])
	if got := count(t, "fd") - fds; got < watches {
		t.Errorf("%d descriptors more with %d watches: the test counts wrongly", got, watches)
	}
	if got := count(t, "task") - threads; got > watches/2 {
		t.Errorf("%d threads more with %d watches", got, watches)
	}
	before := cpu(t)
	stillLives(t, done[0])
	if spent := cpu(t) - before; spent > 25*time.Millisecond {
		t.Errorf("%v of CPU in 50 ms of waiting", spent)
	}
	kill(t, child)
	for _, d := range done {
		ended(t, d)
	}
	for range watches {
		if _, err := NewDescriptors().Process(os.Getpid(), session.Peer{PID: os.Getpid(), UID: nobody}); err == nil {
			t.Fatalf("uid %d may watch process %d", nobody, os.Getpid())
		}
	}
	if got := count(t, "fd"); got > fds {
		t.Errorf("%d descriptors after the watches, %d before", got, fds)
	}
}

func count(t *testing.T, what string) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/" + what)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func cpu(t *testing.T) time.Duration {
	t.Helper()
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
