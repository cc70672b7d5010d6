package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The commands of the README do what it says, as typed. Only where the gateway
// and Redis are to be found is replaced, so that several can run at once.
func TestReadme(t *testing.T) {
	home := readmeHome(t)
	skip := map[string]string{
		"go run ./cmd/lockgw serve": "what this test starts by itself",
		"make test":                 "what this test runs in",
	}
	wants := map[string]string{ // of the block that begins so
		"curl -N":       "event: acquired",
		"T=$(curl":      `"released":true`,
		"curl -fsS":     `"state":"held"`,
		"lockgw run":    "backing up",
		"printf":        "\r\n:0\r\n+OK",
		"redis-server ": "b: fence",
	}
	seen := 0
	for _, block := range shellBlocks(t) {
		if prefixOf(block, skip) != "" {
			continue
		}
		first, _, _ := strings.Cut(block, "\n")
		t.Run(first, func(t *testing.T) {
			want, ok := wants[prefixOf(block, wants)]
			if !ok {
				t.Fatal("the README has a block that this test does not know: say what it is to print")
			}
			seen++
			if out := home.bash(t, block); !strings.Contains(out, want) {
				t.Errorf("it printed\n%s\nwant %q in it", out, want)
			}
		})
	}
	if seen != len(wants) {
		t.Errorf("ran %d blocks of the README, want %d", seen, len(wants))
	}
}

// prefixOf is the longest key of m that block begins with, or "".
func prefixOf(block string, m map[string]string) (longest string) {
	for k := range m {
		if strings.HasPrefix(block, k) && len(k) > len(longest) {
			longest = k
		}
	}
	return longest
}

// shellBlocks are the README's code blocks that are commands.
func shellBlocks(t *testing.T) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(text), "```") {
		if code, ok := strings.CutPrefix(part, "sh\n"); ok && i%2 == 1 {
			blocks = append(blocks, code)
		}
	}
	return blocks
}

// home is where the README's commands find what they name.
type home struct {
	dir     string
	replace *strings.Replacer
}

// readmeHome runs a gateway as the README has it running.
func readmeHome(t *testing.T) home {
	t.Helper()
	m := open(t, 0) // for its directory, with a short path
	run := filepath.Join(m.dir, "run")
	web, port := freeAddress(t), freeAddress(t)
	h := home{dir: m.dir, replace: strings.NewReplacer(
		"/run/lockgw", run, "localhost:7420", web, "/tmp/lockgw", filepath.Join(m.dir, "two"),
		"127.0.0.1:6390", port, "--port 6390", "--port "+portOf(port), "-p 6390", "-p "+portOf(port),
		"127.0.0.1:7421", "127.0.0.1:0", "127.0.0.1:7422", "127.0.0.1:0",
		"curl -N", "timeout 2 curl -N",
	)}
	if err := os.WriteFile(filepath.Join(m.dir, "backup.sh"), []byte("#!/bin/sh\necho backing up\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	g := gateway{http: over(filepath.Join(run, "http.sock"))}
	p, err := start(t.Context(), m.dir, "serve", g.ready, lockgwPath, "serve",
		"--http-listen", web, "--socket-dir", run, "--state-dir", filepath.Join(m.dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	m.servers = append(m.servers, p)
	return h
}

// bash runs a block and returns what it printed. A block that runs until Ctrl-C
// is ended after a while.
func (h home) bash(t *testing.T, block string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", h.replace.Replace(block))
	cmd.Dir = h.dir
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(lockgwPath)+":"+os.Getenv("PATH"),
		"LOCKGW_SOCKET="+h.replace.Replace("/run/lockgw/resp.sock"))
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.HasPrefix(block, "curl -N") {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address)
	return port
}
