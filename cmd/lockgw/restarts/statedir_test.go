package restarts

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockgw/lockgw/backend/redis/redistest"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// refusesToStart runs the program, which has to end by itself, and returns what it
// said.
func (g *gateway) refusesToStart(t testing.TB) string {
	t.Helper()
	cmd := g.Command()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	overdue := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer overdue.Stop()
	_ = cmd.Wait() // its exit code is looked at
	if code := cmd.ProcessState.ExitCode(); code != 125 {
		t.Errorf("exit code %d, want 125; it said:\n%s", code, said.String())
	}
	return said.String()
}

// The directory is one gateway's.
func TestTwoGatewaysOfOneState(t *testing.T) {
	g := lone(t, "memory://")
	other := newGateway(t, e2e.ShortDir(t), "other", "memory://")
	text, err := os.ReadFile(filepath.Join(other.Dir, "lockgw.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	other.Configure(t, strings.Replace(string(text), other.State(), g.State(), 1))
	if said := other.refusesToStart(t); !strings.Contains(said, g.State()) || !strings.Contains(said, "in use by another gateway") {
		t.Errorf("it said %q", said)
	}
	if err := g.await(); err != nil {
		t.Errorf("the first: %v", err)
	}
}

// mounted has dir be a file system of its own, which root alone can do.
func mounted(t testing.TB, dir, options string) {
	t.Helper()
	if err := unix.Mount("lockgw-test", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("cannot mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
}

func TestStateCannotBeWritten(t *testing.T) {
	g := newGateway(t, e2e.ShortDir(t), "lone", "memory://")
	mounted(t, g.State(), "size=1m,mode=0700")
	if err := unix.Mount("", g.State(), "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if said := g.refusesToStart(t); !strings.Contains(said, g.State()) || !strings.Contains(said, "read-only") {
		t.Errorf("it said %q", said)
	}
}

// A full disk costs the memory of the next process, and nothing else.
func TestStateIsFull(t *testing.T) {
	store := redistest.Start(t)
	g := newGateway(t, e2e.ShortDir(t), "lone", store.URL())
	mounted(t, g.State(), "size=64k,mode=0700")
	g.mustStart(t)
	before := g.journal(t).Node
	if err := exec.Command("dd", "if=/dev/zero", "of="+filepath.Join(g.State(), "filler"), "bs=4096").Run(); err == nil {
		t.Fatal("the disk is not full")
	}
	d, _ := mustHold(t, g, "x", `{"keepalive":"1h"}`)
	for n := range 100 { // until a record does not fit into the last page
		mustHold(t, g, fmt.Sprint("y-", n), `{"keepalive":"1h"}`)
	}
	if log := g.Log(); !strings.Contains(log, "journal") && !strings.Contains(log, "state") {
		t.Errorf("the log does not say so:\n%s", log)
	}
	g.Kill()
	if err := os.Remove(filepath.Join(g.State(), "filler")); err != nil {
		t.Fatal(err)
	}
	g.mustStart(t)
	if after := g.journal(t).Node; after == before {
		t.Errorf("it is node %s as before, want a new one", after)
	}
	var no *refusal
	if _, err := d.locks(t.Context()); !errors.As(err, &no) || no.code != "no_session" {
		t.Errorf("the session of before: %v, want no_session", err)
	}
	mustHold(t, g, "z", `{}`)
}

// A gateway that is killed while the disk is full comes back with what its clients hold.
func TestStartWhenStateIsFull(t *testing.T) {
	for _, url := range []string{"memory://", redistest.Start(t).URL()} {
		g := newGateway(t, e2e.ShortDir(t), "lone", url)
		mounted(t, g.State(), "size=512k,mode=0700")
		g.mustStart(t)
		d, l := mustHold(t, g, "x", `{"keepalive":"1h"}`)
		if err := exec.Command("dd", "if=/dev/zero", "of="+filepath.Join(g.State(), "filler"), "bs=4096").Run(); err == nil {
			t.Fatal("the disk is not full")
		}
		for range 2 {
			g.Kill()
			g.mustStart(t)
			if held, err := d.locks(t.Context()); err != nil || len(held) != 1 || held[0].Fence != l.Fence {
				t.Errorf("%s: holds %+v, %v, want fence %d", url, held, err, l.Fence)
			}
		}
	}
}
