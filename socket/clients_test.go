package socket

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Programs and libraries that were not made for lockgw. More of them are run by
// testdata/clients/run.sh.

func program(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Fatalf("there is no %s: make test installs it", name)
	}
}

func TestRedisCLI(t *testing.T) {
	program(t, "redis-cli")
	g := start(t)
	cli := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("redis-cli", append([]string{"-s", g.path}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("redis-cli %q: %v", args, err)
		}
		return string(out)
	}
	if got := cli("ping"); got != "PONG\n" {
		t.Errorf("ping = %q", got)
	}
	if got := cli("-3", "lock", "a"); strings.TrimLeft(got, "0123456789") != "\n" {
		t.Errorf("lock = %q, want a fence", got)
	}
	// The gateway may not have heard yet that the connection before has ended.
	if got := cli("lock", "a", "wait", "30", "full"); !strings.HasPrefix(got, "name\na\nstate\nheld\n") {
		t.Errorf("lock full = %q", got)
	}
	if got := cli("unlock", "a"); !strings.HasPrefix(got, "NOTHELD ") {
		t.Errorf("unlock of another connection's lock = %q, want NOTHELD", got)
	}
	g.dial().lock("b")
	if got := cli("lock", "b"); got != "\n" {
		t.Errorf("lock of a held name = %q, want nothing", got)
	}
	if got := cli("lockinfo", "b"); !strings.Contains(got, "\nholder\n") {
		t.Errorf("lockinfo = %q", got)
	}
}

// At the prompt redis-cli asks COMMAND DOCS first, and commands are one session.
func TestRedisCLIPrompt(t *testing.T) {
	program(t, "redis-cli")
	g := start(t)
	for _, protocol := range []string{"-2", "-3"} {
		cmd := exec.Command("redis-cli", protocol, "-s", g.path)
		cmd.Stdin = strings.NewReader("LOCK a\nLOCK a NOTE 'two words'\nUNLOCK a\nUNLOCK a\nUNLOCK a\nHELP LOCK\n")
		out, err := cmd.CombinedOutput()
		lines := strings.Split(string(out), "\n")
		if err != nil || len(lines) < 5 || lines[0] == "" || lines[0] != lines[1] || lines[2] != "1" || lines[3] != "0" ||
			!strings.HasPrefix(lines[4], "NOTHELD") {
			t.Errorf("redis-cli %s = %q, err %v", protocol, out, err)
		}
	}
}

func TestNC(t *testing.T) {
	program(t, "nc")
	g := start(t)
	cmd := exec.Command("nc", "-U", g.path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	io.WriteString(in, "LOCK a WAIT 5\n")
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, ":") || line == ":0\r\n" {
		t.Errorf("nc got %q, err %v, want a fence", line, err)
	}
	other := g.dial()
	other.want(nil, "LOCK", "a")
	other.send("LOCK", "a", "WAIT", "30")
	g.waiters(1)
	cmd.Process.Kill()
	cmd.Wait()
	if fence, _ := other.read().(int64); fence == 0 {
		t.Error("the lock was not passed on when nc was killed")
	}
}

// nc -N ends the connection when its input ends.
func TestNCOnce(t *testing.T) {
	program(t, "nc")
	g := start(t)
	cmd := exec.Command("nc", "-N", "-U", g.path)
	cmd.Stdin = strings.NewReader("LOCK a\r\nUNLOCK a\r\nLOCK b\r\n")
	out, err := cmd.CombinedOutput()
	if lines := strings.Split(string(out), "\r\n"); err != nil || len(lines) != 4 || lines[1] != ":0" || !strings.HasPrefix(lines[2], ":") {
		t.Errorf("nc -N = %q, err %v", out, err)
	}
	g.dial().lock("b", "WAIT", "30")
}

func TestGoRedis(t *testing.T) {
	g := start(t)
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
			ctx := t.Context()
			// With no token each connection of the pool is a session of its own.
			plain := redis.NewClient(&redis.Options{Network: "unix", Addr: g.path, Protocol: protocol})
			defer plain.Close()
			token, err := plain.Do(ctx, "SESSION", "NEW").Text()
			if err != nil {
				t.Fatal(err)
			}
			// A token as the password makes the whole pool one session.
			pool := redis.NewClient(&redis.Options{
				Network: "unix", Addr: g.path, Protocol: protocol, Password: token, ReadTimeout: -1, MaxRetries: -1,
				MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
			})
			defer pool.Close()
			fence, err := pool.Do(ctx, "LOCK", "go", "WAIT", 1, "NOTE", "go redis").Int64()
			if err != nil || fence == 0 {
				t.Fatalf("LOCK = %d, %v", fence, err)
			}
			if _, err := plain.Do(ctx, "LOCK", "go", "THREAD", 2).Int64(); !errors.Is(err, redis.Nil) {
				t.Errorf("LOCK of a held name: err = %v, want %v", err, redis.Nil)
			}
			pipe := pool.Pipeline()
			pipe.Do(ctx, "LOCK", "go")
			last := pipe.Do(ctx, "UNLOCK", "go", "ALL")
			if _, err := pipe.Exec(ctx); err != nil || last.Val() != int64(0) {
				t.Errorf("pipeline: %v, %v", last.Val(), err)
			}
			err = pool.Do(ctx, "UNLOCK", "go").Err()
			if err == nil || !strings.HasPrefix(err.Error(), "NOTHELD ") {
				t.Errorf("UNLOCK again: err = %v, want NOTHELD", err)
			}
			goRedisChannel(ctx, t, plain, g)
			if err := plain.Do(ctx, "SESSION", "END").Err(); err != nil {
				t.Errorf("SESSION END: %v", err)
			}
		})
	}
}

func goRedisChannel(ctx context.Context, t *testing.T, c *redis.Client, g *gateway) {
	t.Helper()
	sub := c.PSubscribe(ctx, "lock:*")
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatalf("PSUBSCRIBE: %v", err)
	}
	w := g.dial()
	w.lock("seen")
	select {
	case m := <-sub.Channel():
		if m.Channel != "lock:seen" || !strings.Contains(m.Payload, `"event":"acquired"`) {
			t.Errorf("message = %+v", m)
		}
	case <-time.After(slack):
		t.Error("no message")
	}
	w.want(int64(0), "UNLOCK", "seen")
}
