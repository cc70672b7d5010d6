package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/socket/client"
)

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "lockgw" { // the program has the umask that it is started with
		unix.Umask(0o022) // a gateway refuses directories that everybody may write
	}
	testscript.Main(m, map[string]func(){"lockgw": main})
}

func TestScripts(t *testing.T) {
	// Under nohup the scripts' commands would ignore it, as they should.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("LOCKGW_SOCKET_DIR", filepath.Join(e.WorkDir, "s"))
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			e.Setenv("TZ", "UTC")
			e.Values[jobsKey{}] = map[string]*job{}
			return nil
		},
		Condition: func(what string) (bool, error) {
			if what == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", what)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": scriptExits,
			"start": scriptStart,
			"send":  scriptSend,
			"ended": scriptEnded,
			"await": scriptAwait,
			"ready": scriptReady,
			"lock":  scriptLock,
			"fence": scriptFence,
			"busy":  scriptBusy,
			"redis": scriptRedis,
			"gone":  scriptGone,
			"alive": scriptAlive,
			"end":   scriptEnd,
			"put":   scriptPut,
		},
	})
}

// scriptExits: exits CODE COMMAND... runs a command that has to end so.
func scriptExits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var e *exec.ExitError
	if errors.As(err, &e) {
		got = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("%s: exit code %d, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// job is a command that runs beside the script; its output is in NAME.out and
// NAME.err.
type job struct {
	cmd  *exec.Cmd
	done chan struct{}
}

type jobsKey struct{}

func jobs(ts *testscript.TestScript) map[string]*job { return ts.Value(jobsKey{}).(map[string]*job) }

func jobOf(ts *testscript.TestScript, name string) *job {
	j := jobs(ts)[name]
	if j == nil {
		ts.Fatalf("no job %s", name)
	}
	return j
}

// scriptStart: start NAME COMMAND...
func scriptStart(ts *testscript.TestScript, _ bool, args []string) {
	name := args[0]
	out, err := os.Create(ts.MkAbs(name + ".out"))
	ts.Check(err)
	defer out.Close()
	errs, err := os.Create(ts.MkAbs(name + ".err"))
	ts.Check(err)
	defer errs.Close()
	cmd := exec.Command(lookPath(ts, args[1]), args[2:]...)
	cmd.Args[0] = args[1]
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(environ(ts), "LOCKGW_STATE_DIR="+ts.MkAbs("state-"+name)) // each gateway has its own
	cmd.Stdout, cmd.Stderr = out, errs
	ts.Check(cmd.Start())
	j := &job{cmd: cmd, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(j.done)
	}()
	jobs(ts)[name] = j
	ts.Defer(func() {
		_ = cmd.Process.Kill()
		<-j.done
	})
}

func lookPath(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path
		}
	}
	ts.Fatalf("%s is not in PATH", name)
	return ""
}

// environ is what the script has set; of others a job gets PATH alone.
func environ(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range []string{"PATH", "HOME", "WORK", "TMPDIR", "GORACE", "GOCOVERDIR", "TZ", "LOCKGW_SOCKET_DIR", "LOCKGW_SOCKET", "LOCKGW_TTL"} {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// scriptSend: send SIGNAL NAME
func scriptSend(ts *testscript.TestScript, _ bool, args []string) {
	s := unix.SignalNum("SIG" + args[0])
	ts.Check(jobOf(ts, args[1]).cmd.Process.Signal(s))
}

// scriptEnded: ended NAME CODE waits for the end; CODE may be -SIGNAL.
func scriptEnded(ts *testscript.TestScript, _ bool, args []string) {
	j := jobOf(ts, args[0])
	select {
	case <-j.done:
	case <-time.After(e2e.Patience):
		ts.Fatalf("%s has not ended after %v\nstderr: %s", args[0], e2e.Patience, ts.ReadFile(args[0]+".err"))
	}
	status := j.cmd.ProcessState.Sys().(syscall.WaitStatus)
	got := strconv.Itoa(status.ExitStatus())
	if status.Signaled() {
		got = "-" + strings.TrimPrefix(unix.SignalName(status.Signal()), "SIG")
	}
	if got != args[1] {
		ts.Fatalf("%s ended with %s, want %s\nstderr: %s", args[0], got, args[1], ts.ReadFile(args[0]+".err"))
	}
}

// scriptAwait: await FILE REGEXP waits until the file has a match.
func scriptAwait(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile(args[1])
	text, ok := "", false
	e2e.Until(func() bool {
		b, _ := os.ReadFile(ts.MkAbs(args[0]))
		text = string(b)
		ok = want.MatchString(text)
		return ok
	})
	if !ok {
		ts.Fatalf("%s has no match for %q:\n%s", args[0], args[1], text)
	}
}

// scriptReady: ready [DIR] waits until the gateway answers.
func scriptReady(ts *testscript.TestScript, _ bool, args []string) {
	var err error
	e2e.Until(func() bool {
		var c *client.Client
		if c, err = dial(ts, args); err == nil {
			err = c.Close()
		}
		return err == nil
	})
	ts.Check(err)
}

func dial(ts *testscript.TestScript, dir []string) (*client.Client, error) {
	path := ts.Getenv("LOCKGW_SOCKET_DIR")
	if len(dir) > 0 {
		path = ts.MkAbs(dir[0])
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return client.Dial(ctx, filepath.Join(path, cli.RespSocket), client.Options{})
}

// scriptLock: lock NAME free|held|waiters=N|by=COMMAND waits until the name is so. A run tells
// of its command only when that has been started.
func scriptLock(ts *testscript.TestScript, _ bool, args []string) {
	var st client.Status
	var err error
	ok := false
	e2e.Until(func() bool {
		var c *client.Client
		if c, err = dial(ts, nil); err != nil {
			return false
		}
		defer c.Close()
		if st, err = c.Info(context.Background(), args[0]); err != nil {
			return false
		}
		ok = string(st.State) == args[1] || fmt.Sprintf("waiters=%d", st.Waiters) == args[1] ||
			st.Holder != nil && "by="+st.Holder.Command == args[1]
		return ok
	})
	if !ok {
		ts.Fatalf("lock %s is %+v, %v; want %s", args[0], st, err, args[1])
	}
}

// scriptFence: fence VARIABLE NAME sets it to the fence of the lock.
func scriptFence(ts *testscript.TestScript, _ bool, args []string) {
	c, err := dial(ts, nil)
	ts.Check(err)
	defer c.Close()
	st, err := c.Info(context.Background(), args[1])
	ts.Check(err)
	ts.Setenv(args[0], fmt.Sprint(st.Fence))
}

// scriptBusy: busy VARIABLE sets it to an address on which somebody listens.
func scriptBusy(ts *testscript.TestScript, _ bool, args []string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = ln.Close() })
	ts.Setenv(args[0], ln.Addr().String())
}

// scriptRedis: redis NAME starts a Redis server as a job, on the socket NAME.sock.
func scriptRedis(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0] + ".sock")
	scriptStart(ts, false, []string{args[0], "redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no", "--dir", ts.MkAbs(".")})
	e2e.Until(func() bool {
		c, err := net.Dial("unix", path)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

// scriptGone: gone FILE waits until the process whose pid is in it has ended.
func scriptGone(ts *testscript.TestScript, _ bool, args []string) {
	pid := pidIn(ts, args[0])
	e2e.Until(func() bool { return !e2e.Running(pid) })
	if e2e.Running(pid) {
		ts.Fatalf("process %d of %s is still there", pid, args[0])
	}
}

// scriptAlive: alive FILE wants the process whose pid is in it to be there.
func scriptAlive(ts *testscript.TestScript, _ bool, args []string) {
	if pid := pidIn(ts, args[0]); !e2e.Running(pid) {
		ts.Fatalf("process %d of %s has ended", pid, args[0])
	}
}

// scriptEnd: end FILE kills the process whose pid is in it.
func scriptEnd(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(syscall.Kill(pidIn(ts, args[0]), syscall.SIGKILL))
}

func pidIn(ts *testscript.TestScript, file string) int {
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(file)))
	ts.Check(err)
	return pid
}

// scriptPut: put VARIABLE sets it to the first line of the last command's output.
func scriptPut(ts *testscript.TestScript, _ bool, args []string) {
	line, _, _ := strings.Cut(ts.ReadFile("stdout"), "\n")
	ts.Setenv(args[0], line)
}
