package api

import (
	"bufio"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// The one-line commands that the manual gives, as they are typed there but for
// the address.
const (
	curlHold    = `curl -N -X POST localhost:7420/v1/locks/nightly/hold`
	curlAcquire = `T=$(curl -fsS -X PUT -H 'Accept: text/plain' 'localhost:7420/v1/locks/nightly?wait=30s&max_hold=2h')`
	curlRelease = `curl -fsS -X DELETE --oauth2-bearer "$T" localhost:7420/v1/locks/nightly`
	curlBind    = `curl -fsS -X PUT --unix-socket /run/lockgw/http.sock "http://lockgw/v1/locks/nightly?wait=30s&bind=pid:$$"`
)

// shell is a script in which the addresses are those of g.
func (g *gateway) shell(script string) *exec.Cmd {
	g.t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		g.t.Fatal("there is no curl: make test installs it")
	}
	port := g.tcp[strings.LastIndex(g.tcp, ":"):]
	script = strings.NewReplacer("localhost:7420", "127.0.0.1"+port, "/run/lockgw/http.sock", g.unix).Replace(script)
	return exec.CommandContext(g.t.Context(), "sh", "-euc", script)
}

func TestCurlHold(t *testing.T) {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, syscall.SIGINT) // or curl would ignore it wherever these tests do, as in a shell's background
	defer signal.Stop(interrupts)
	g := newGateway(t, session.Config{})
	cmd := g.shell("exec " + curlHold)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "event: acquired\n" {
		t.Errorf("first line = %q, %v, want the event acquired", line, err)
	}
	if st := g.state("nightly"); st.State != session.StateHeld {
		t.Errorf("state = %s, want held", st.State)
	}
	_ = cmd.Process.Signal(syscall.SIGINT) // Ctrl-C
	_ = cmd.Wait()
	until(t, "the lock is free", func() bool { return g.state("nightly").State == session.StateFree })
}

func TestCurlAcquireAndRelease(t *testing.T) {
	g := newGateway(t, session.Config{})
	out, err := g.shell(curlAcquire + "\nprintf '%s' \"$T\"").CombinedOutput()
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`).Match(out) || err != nil {
		t.Fatalf("T = %q, %v, want a token", out, err)
	}
	st := g.state("nightly")
	if st.State != session.StateHeld {
		t.Fatalf("state = %s, want held", st.State)
	}
	token := string(out)
	s := into[struct{ Locks []lock }](t, g.must(200, request{method: "GET", path: "/v1/sessions/self", token: token}))
	if in := time.Until(s.Locks[0].MaxHoldAt); in < 119*time.Minute || in > 2*time.Hour {
		t.Errorf("max_hold_at is in %v, want the 2 h that were asked", in)
	}
	if out, err := g.shell("T=" + token + "\n" + curlRelease).CombinedOutput(); err != nil || !strings.Contains(string(out), `"released":true`) {
		t.Errorf("release: %s, %v, want released", out, err)
	}
	if st := g.state("nightly"); st.State != session.StateFree {
		t.Errorf("state = %s, want free", st.State)
	}
}

// -f makes curl fail if the lock was not acquired, so that the script stops.
func TestCurlNotAcquired(t *testing.T) {
	g := newGateway(t, session.Config{})
	g.acquire("nightly", "")
	out, err := g.shell(strings.Replace(curlAcquire, "30s", "0.1", 1) + "\necho went on").CombinedOutput()
	if err == nil || strings.Contains(string(out), "went on") {
		t.Errorf("the script went on: %s, %v", out, err)
	}
}

// The lock ends with the script.
func TestCurlBind(t *testing.T) {
	g := newGateway(t, session.Config{})
	cmd := g.shell(curlBind + "\necho\nread wait")
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
	if line, err := bufio.NewReader(out).ReadString('\n'); !strings.Contains(line, `"state":"held"`) {
		t.Errorf("answer = %q, %v, want the hold", line, err)
	}
	if st := g.state("nightly"); st.State != session.StateHeld {
		t.Errorf("state = %s, want held", st.State)
	}
	_, _ = in.Write([]byte("\n"))
	if err := cmd.Wait(); err != nil {
		t.Errorf("script: %v", err)
	}
	until(t, "the lock is free", func() bool { return g.state("nightly").State == session.StateFree })
}
