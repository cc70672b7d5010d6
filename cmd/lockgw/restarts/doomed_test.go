package restarts

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// child is a process that lives until it is killed.
func child(t testing.TB) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "86400")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bury(cmd) })
	return cmd
}

func bury(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // fails only when it is gone already
	_ = cmd.Wait()
}

// openBound opens a session that lives as long as a process.
func openBound(ctx context.Context, g *gateway, pid int) (*webDoor, error) {
	return openWeb(ctx, g, fmt.Sprintf(`{"bind":{"pid":%d}}`, pid))
}

// mortal is a client that dies while its gateway is away.
type mortal struct {
	g     *gateway
	name  string
	child *exec.Cmd
}

func newMortal(t testing.TB, g *gateway, name string) *mortal {
	t.Helper()
	m := &mortal{g: g, name: name, child: child(t)}
	d, err := openBound(t.Context(), g, m.child.Process.Pid)
	if err == nil {
		_, err = d.acquire(t.Context(), name, "", 0)
	}
	if err != nil {
		t.Fatalf("mortal: %v", err)
	}
	return m
}

// lockState is the state of a name as its gateway tells it, "" if it does not answer.
func (g *gateway) lockState(ctx context.Context, name string) string {
	var info struct{ State string }
	if err := g.ask(ctx, http.MethodGet, "/v1/locks/"+name, "", credentials{}, &info); err != nil {
		return ""
	}
	return info.State
}

// deserter is a client that lived by its connection, and does not come back.
type deserter struct {
	g    *gateway
	name string
	led  *ledger
	line *lineDoor
}

func newDeserter(t testing.TB, g *gateway, led *ledger, name string) *deserter {
	t.Helper()
	d, err := openLine(t.Context(), g, 0)
	if err == nil {
		_, err = d.acquire(t.Context(), name, "once", 0)
	}
	if err != nil {
		t.Fatalf("deserter: %v", err)
	}
	return &deserter{g: g, name: name, led: led, line: d}
}

// run, after the gateway has died, sees its lock last for session.reattach from the
// start of the process that frees it, and be free then.
func (d *deserter) run(ctx context.Context) {
	d.line.close()
	heldIn := 0
	for ; ctx.Err() == nil; pause(ctx, 20*time.Millisecond) {
		n, begun := d.g.Starts()
		state, since := d.g.lockState(ctx, d.name), now()-begun
		if again, _ := d.g.Starts(); again != n {
			continue // whose answer it is, is not known
		}
		switch {
		case state == "held" && since < reattach+patience:
			heldIn = n
		case state == "held":
			d.led.fault("%s of %s is not free %v after the start, though its client has not come back", d.name, d.g.Name, since)
			return
		case state == "free" && heldIn == n && since < reattach:
			log := d.g.Log()
			d.led.fault("%s of %s was free %v after the start, want %v at least; its gateways wrote\n%s", d.name, d.g.Name, since, reattach, log[max(0, len(log)-8000):])
			return
		case state == "free":
			return
		}
	}
}
