package socket

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/socket/resp"
)

func TestHello(t *testing.T) {
	w := start(t).dial()
	flat, _ := w.do("HELLO").([]any)
	if len(flat) != 14 || flat[0] != "server" || flat[1] != "lockgw" || flat[5] != int64(2) {
		t.Errorf("HELLO = %v, want 7 pairs, flat, with proto 2", flat)
	}
	id := flat[7]
	want := map[string]any{
		"server": "lockgw", "version": "1.2.3", "proto": int64(3), "id": id, "mode": "standalone", "role": "master", "modules": []any{},
	}
	w.want(want, "HELLO", "3")
	w.want(want, "hello")
	w.want(id, "CLIENT", "ID")
	if flat, ok := w.do("HELLO", "2").([]any); !ok || flat[5] != int64(2) {
		t.Errorf("HELLO 2 = %v, want proto 2", flat)
	}
}

func TestSmallCommands(t *testing.T) {
	w := start(t).dial()
	w.want("PONG", "PING")
	w.want("hi", "ping", "hi")
	w.want("hi", "ECHO", "hi")
	w.want("OK", "SELECT", "0")
	w.want(nil, "CLIENT", "GETNAME")
	w.want("OK", "CLIENT", "SETNAME", "me")
	w.want("me", "CLIENT", "GETNAME")
	w.want("OK", "CLIENT", "SETINFO", "LIB-NAME", "go-redis(,go1.26)")
	w.want("OK", "client", "setinfo", "lib-ver", "9")
	info, _ := w.do("CLIENT", "INFO").(string)
	for _, part := range []string{"name=me ", "lib-name=go-redis(,go1.26) ", "lib-ver=9 ", "resp=2 "} {
		if !strings.Contains(info, part) {
			t.Errorf("CLIENT INFO = %q, want it to contain %q", info, part)
		}
	}
}

func TestQuit(t *testing.T) {
	g := start(t)
	w := g.dial()
	w.write("LOCK a\nPING\nQUIT\nLOCK b\nPING\n")
	if got := w.rest(); !strings.HasSuffix(got, "\r\n+PONG\r\n+OK\r\n") {
		t.Errorf("answers up to QUIT = %q", got)
	}
	eventually(t, "the lock is free", func() bool { return g.m.Stats().Holds == 0 })
}

// What is sent behind QUIT is not done, even where the session lives on.
func TestNothingAfterQuit(t *testing.T) {
	g := start(t)
	a, b := g.dial3(), g.dial()
	token := a.token()
	b.want("OK", "AUTH", token)
	b.write("QUIT\nLOCK b\n")
	b.rest()
	g.connections(1)
	g.unchanged()
}

// QUIT behind a wait is answered after it, and nothing behind QUIT is.
func TestQuitBehindWait(t *testing.T) {
	g := start(t)
	a, b := g.dial(), g.dial()
	a.lock("a")
	b.write("LOCK a WAIT 30\nQUIT\nPING\n")
	g.waiters(1)
	a.want(int64(0), "UNLOCK", "a")
	if got := b.rest(); !strings.HasPrefix(got, ":") || !strings.HasSuffix(got, "\r\n+OK\r\n") {
		t.Errorf("answers up to QUIT = %q", got)
	}
	a.lock("a", "WAIT", "60")
}

func TestServerInfo(t *testing.T) {
	g := start(t)
	w := g.dial()
	w.lock("a")
	info, _ := w.do("INFO").(string)
	for _, line := range []string{
		"redis_version:7.4.0", "lockgw_version:1.2.3", "loading:0", "role:master", "connected_clients:1", "sessions:1", "holds:1",
		"waiters:0", "backend:memory",
	} {
		if !strings.Contains(info, "\r\n"+line+"\r\n") {
			t.Errorf("INFO has no line %q:\n%s", line, info)
		}
	}
}

// Client libraries ask for the sections that they want, in any case and order.
func TestInfoSections(t *testing.T) {
	w := start(t).dial()
	const all = "Server Clients Persistence Replication Lockgw"
	for asked, want := range map[string]string{
		"": all, "all": all, "default": all, "EVERYTHING": all, "memory everything": all,
		"server": "Server", "Replication": "Replication", "LOCKGW": "Lockgw",
		"replication server replication": "Server Replication", "memory": "", "memory clients cpu": "Clients",
	} {
		text, ok := w.do(append([]string{"INFO"}, strings.Fields(asked)...)...).(string)
		var got []string
		for line := range strings.SplitSeq(text, "\r\n") {
			if name, begins := strings.CutPrefix(line, "# "); begins {
				got = append(got, name)
			}
		}
		if !ok || strings.Join(got, " ") != want || want == "" && text != "" {
			t.Errorf("INFO %s = %q, want the sections %q", asked, text, want)
		}
		if strings.HasPrefix(text, "\r\n") || strings.HasSuffix(text, "\r\n\r\n") || strings.Contains(text, "\r\n\r\n\r\n") {
			t.Errorf("INFO %s = %q, want one empty line between sections, and none else", asked, text)
		}
	}
}

func TestCommandTable(t *testing.T) {
	g := start(t)
	w := g.dial3()
	n := int64(len(g.commands))
	w.want(n, "COMMAND", "COUNT")
	all, _ := w.do("COMMAND").([]any)
	names := []string{}
	for _, one := range all {
		entry := one.([]any)
		if len(entry) != 10 {
			t.Errorf("COMMAND has %v, want ten values", entry)
		}
		names = append(names, entry[0].(string))
	}
	want := []string{
		"auth", "break", "client", "command", "echo", "hello", "info", "lock", "lockinfo", "locks", "ping", "psubscribe", "punsubscribe",
		"quit", "renew", "reset", "select", "session", "subscribe", "unlock", "unsubscribe",
	}
	if !slices.Equal(names, want) {
		t.Errorf("COMMAND = %q, want %q", names, want)
	}
	two, _ := w.do("COMMAND", "INFO", "lock", "nonsense").([]any)
	if len(two) != 2 || two[1] != nil || two[0].([]any)[1] != int64(-2) {
		t.Errorf("COMMAND INFO lock nonsense = %v, want lock with arity -2, and null", two)
	}
	docs, _ := w.do("COMMAND", "DOCS", "LOCK", "nonsense").(map[string]any)
	if lock, _ := docs["lock"].(map[string]any); len(docs) != 1 || lock["summary"] == "" || len(lock["arguments"].([]any)) != 1 {
		t.Errorf("COMMAND DOCS LOCK = %v", docs)
	}
	if docs, _ := w.do("COMMAND", "DOCS").(map[string]any); int64(len(docs)) != n {
		t.Errorf("COMMAND DOCS tells of %d commands, want %d", len(docs), n)
	}
}

// An error says that a command has a HELP, as Redis does.
func TestHelpThatAnErrorNames(t *testing.T) {
	w := start(t).dial()
	for _, command := range []string{"CLIENT", "COMMAND"} {
		line := fmt.Sprint(w.do(command, "LIST"))
		if want := "Try " + command + " HELP."; !strings.HasSuffix(line, want) {
			t.Errorf("%s LIST = %q, want it to end with %q", command, line, want)
		}
		help, _ := w.do(command, "HELP").([]any)
		if len(help) != 2 || !strings.HasPrefix(fmt.Sprint(help[0]), command+" ") || !strings.Contains(fmt.Sprint(help[0]), "INFO") {
			t.Errorf("%s HELP = %q, want what it may be followed by, and a sentence", command, help)
		}
	}
}

// Client libraries know what a server cannot do by the words of Redis, so they
// are compared with a real one's.
func TestUnknownLikeRedis(t *testing.T) {
	redis := redisServer(t)
	w := start(t).dial()
	for _, args := range [][]string{
		{"nonsense"}, {"Nonsense", "a", "b c"}, {""}, {strings.Repeat("x", 200), strings.Repeat("y", 100), strings.Repeat("z", 100), "end"},
		{"a\r\nb", "c\nd"}, {"nul\x00after", "x\x00y"}, {"x", strings.Repeat("y", 125), "z"}, {"x", strings.Repeat("y", 126), "z"},
		{"CLIENT", "nonsense"}, {"client", "Nonsense", "x"}, {"COMMAND", "nonsense"},
	} {
		want, got := redis.do(args...), w.do(args...)
		if _, ok := want.(resp.Error); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%.60q\n= %q\nwant %q", args, got, want)
		}
	}
}

// redisServer is a connection to a Redis of this test alone.
func redisServer(t *testing.T) *wire {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatal("there is no redis-server: make test installs it")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "redis.sock")
	cmd := exec.Command("redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--dir", dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	g := &gateway{t: t, path: path}
	eventually(t, "redis-server listens", func() bool {
		nc, err := net.Dial("unix", path)
		if err == nil {
			nc.Close()
		}
		return err == nil
	})
	return g.dial()
}
