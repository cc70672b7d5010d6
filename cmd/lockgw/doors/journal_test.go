package doors

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// A journal that is not written any more is told to whoever asks whether all is well.
func TestReadyTellsOfTheJournal(t *testing.T) {
	t.Parallel()
	g := start(t, setup{})
	state := filepath.Join(g.dir, "state")
	if err := os.Remove(filepath.Join(state, "journal")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(state, "journal"), 0o700); err != nil { // so that it cannot be written anew
		t.Fatal(err)
	}
	tells := func() bool {
		g.call(0, "unix", "PUT", "/v1/locks/a", "", "") // has it noticed
		return strings.Contains(g.must(200, 0, "unix", "GET", "/readyz", "", "").body, "locks do not outlive the gateway")
	}
	if e2e.Until(tells); !tells() {
		t.Errorf("/readyz = %s, want what is wrong with the journal", g.call(0, "unix", "GET", "/readyz", "", "").body)
	}
}

// Two sessions that flood the gateway with requests that have ids, on a small file system
// for its state: nobody loses a lock by it, also when the gateway is killed.
func TestFloodOnASmallDisk(t *testing.T) {
	t.Parallel()
	state := filepath.Join(e2e.ShortDir(t), "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	small := setup{within: withTmpfs(t, state, "8m"), args: []string{"--state-dir", state}}
	g := start(t, small)
	token := g.must(201, alice, "unix", "POST", "/v1/sessions", "", `{"keepalive":"2m","ttl":"10s"}`).field("token")
	g.must(201, alice, "unix", "PUT", "/v1/locks/hers", token, "")

	done := make(chan error, 2)
	for n := range 2 {
		c, err := g.connect(mallory, "unix", g.resp())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(4 * e2e.Patience))
		name := fmt.Sprintf("%d-%s", n, strings.Repeat("m", 250))
		go func() {
			_, _ = io.Copy(io.Discard, c) // until it is closed
		}()
		go func() {
			w := bufio.NewWriter(c)
			for i := range 8192 {
				_, _ = fmt.Fprintf(w, "LOCK %s REQ l%d\r\nUNLOCK %s REQ u%d\r\nUNLOCK %s REQ f%d\r\n", name, i, name, i, name, i)
			}
			done <- w.Flush()
		}()
	}
	slowest := time.Duration(0)
	for flooding := 2; flooding > 0; {
		began := time.Now()
		g.must(200, alice, "unix", "POST", "/v1/sessions/self/keepalive", token, "")
		slowest = max(slowest, time.Since(began))
		select {
		case err := <-done:
			if flooding--; err != nil {
				t.Errorf("the flood was cut off: %v", err)
			}
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Logf("the slowest answer to somebody else: %v", slowest)
	_ = g.cmd.Process.Signal(syscall.SIGKILL)
	_ = g.cmd.Wait()

	again := start(t, small)
	again.must(423, bob, "unix", "PUT", "/v1/locks/hers", "", "")
	again.must(200, alice, "unix", "PUT", "/v1/locks/hers", token, "") // again: still hers
}

// withTmpfs is a command that runs another where a file system of that size, of its own,
// is mounted at path.
func withTmpfs(t *testing.T, path, size string) []string {
	holder := exec.Command("unshare", "--mount", "sh", "-c", "mount -t tmpfs -o mode=700,size="+size+" tmpfs "+path+" && echo mounted && exec sleep 600")
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Process.Kill(); _ = holder.Wait() })
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "mounted\n" {
		t.Fatalf("mount of a tmpfs at %s: %q", path, line)
	}
	return []string{"nsenter", "--target", pid(holder.Process), "--mount", "--"}
}
