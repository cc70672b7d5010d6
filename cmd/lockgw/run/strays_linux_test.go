package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// Who has left the group of the command is asked to end as well, once: by its parent, which may
// pass the signal on, and by the run if the parent has ended.
func TestStraysAreAsked(t *testing.T) {
	const counts = `n=0; trap 'n=$((n+1)); echo $n >asked' TERM; until test -e asked; do sleep 0.01; done; for i in 1 2 3 4 5 6 7 8 9; do sleep 0.05; done`
	for name, script := range map[string]string{
		"left alone by its parent":      `setsid -w sh -c "$COUNTS"; :`,
		"of timeout":                    `timeout 600 sh -c "$COUNTS"; :`,
		"of a run inside":               `lockgw run inside -- sh -c "$COUNTS"; :`,
		"of a run inside that is alone": `exec lockgw run inside -- sh -c "$COUNTS"`,
	} {
		dir := t.TempDir()
		cmd := exec.Command("lockgw", "run", "nightly", "--max-runtime", "0.5", "--kill-after", "20s", "--", "sh", "-c", script)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "COUNTS="+counts, "LOCKGW_SOCKET="+e2e.StartGateway(t))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		e2e.WantExit(t, cmd, cli.ExitMaxRuntime)
		if text, err := os.ReadFile(filepath.Join(dir, "asked")); string(text) != "1\n" {
			t.Errorf("%s: it was asked %q times (%v), want once", name, text, err)
		}
	}
}
