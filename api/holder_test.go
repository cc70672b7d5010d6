package api

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/lockgw/lockgw/session"
)

// The holder of a lock that is bound to a process is that process, with its command;
// who asked for it stands beside it.
func TestHolderOfABoundLock(t *testing.T) {
	g := newGateway(t, session.Config{})
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	pid := cmd.Process.Pid
	g.must(201, request{method: "PUT", path: fmt.Sprintf("/v1/locks/a?bind=pid:%d", pid), unix: true})
	h := g.state("a").Holder
	if h == nil || h.PID != pid || h.Command != "sleep" || h.AskedBy == nil || h.AskedBy.PID != os.Getpid() {
		t.Errorf("holder %+v, want pid %d (sleep), asked for by pid %d", h, pid, os.Getpid())
	}
	g.must(201, request{method: "PUT", path: fmt.Sprintf("/v1/locks/b?bind=pid:%d", os.Getpid()), unix: true})
	if h := g.state("b").Holder; h == nil || h.PID != os.Getpid() || h.AskedBy != nil {
		t.Errorf("holder %+v, want pid %d, and nobody beside it", h, os.Getpid())
	}
}
