package api

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
)

// The example of docs/deadline.md, as typed but for the path of the socket. To a
// program that was stopped for long the deadline looks as it does when the gateway's
// clock is behind: here it began with the test. It must not be below 0, where it never is.
func TestDeadlineExample(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("the example needs python3: %v", err)
	}
	text, err := os.ReadFile("../docs/deadline.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(text), "```python\n")
	example, _, _ = strings.Cut(example, "```")
	began := session.Boottime() - time.Second
	behind := func() time.Duration { return session.Boottime() - began }
	for _, tt := range []struct {
		what  string
		clock session.Clock
		want  string
		steps int
	}{
		{"in time", nil, "safe to switch with fence", 3},
		{"late", behind, "the lock may be lost", 0},
	} {
		g := newGateway(t, session.Config{Clock: tt.clock})
		cmd := exec.CommandContext(t.Context(), python, "-c", strings.ReplaceAll(example, "/run/lockgw/http.sock", g.unix))
		out, err := cmd.CombinedOutput()
		if got := string(out); !strings.Contains(got, tt.want) || strings.Count(got, "safe to") != tt.steps {
			t.Errorf("%s: %v, it printed\n%s\nwant %q, and %d steps", tt.what, err, got, tt.want, tt.steps)
		}
	}
}
