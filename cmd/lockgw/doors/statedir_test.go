package doors

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// What the journal says is believed: who holds what, and what token speaks for whom. So
// nobody but the gateway's user may have written it, or be able to.
func TestPlantedState(t *testing.T) {
	give := func(path string) error { return os.Lchown(path, mallory, mallory) }
	journal := func(dir string) error {
		path := filepath.Join(dir, "journal")
		if err := os.WriteFile(path, []byte("lockgw journal 1\n"), 0o644); err != nil {
			return err
		}
		return give(path)
	}
	for name, tt := range map[string]struct {
		plant func(dir string) error // dir is there, and the gateway's
		want  string                 // "": it starts
	}{
		"nothing":            {func(string) error { return nil }, ""},
		"her directory":      {give, "belongs to the user with id 1001"},
		"everybody's":        {func(dir string) error { return os.Chmod(dir, 0o777) }, "can be written by everybody"},
		"a sticky directory": {func(dir string) error { return os.Chmod(dir, 0o777|os.ModeSticky) }, "can be written by everybody"},
		"a link": {func(dir string) error {
			if err := os.Rename(dir, dir+"-of-mallory"); err != nil {
				return err
			}
			return os.Symlink(dir+"-of-mallory", dir)
		}, "is a symbolic link"},
		"her journal": {journal, "user with id 1001"},
		"a link as journal": {func(dir string) error {
			return os.Symlink(filepath.Join(filepath.Dir(dir), "victim"), filepath.Join(dir, "journal"))
		}, "symbolic link"},
		"a link where the journal is written": {func(dir string) error {
			return os.Symlink(filepath.Join(filepath.Dir(dir), "victim"), filepath.Join(dir, "journal.new"))
		}, ""},
		"a link where the lock is": {func(dir string) error {
			return os.Symlink(filepath.Join(filepath.Dir(dir), "victim"), filepath.Join(dir, "lock"))
		}, "too many levels of symbolic links"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := e2e.ShortDir(t)
			dir, victim := filepath.Join(base, "state"), filepath.Join(base, "victim")
			const text = "of somebody else"
			if err := os.WriteFile(victim, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := tt.plant(dir); err != nil {
				t.Fatal(err)
			}
			sockets := filepath.Join(base, "s")
			cmd := exec.Command("sh", "-c", fmt.Sprintf(
				`%[1]s serve --http-listen= --socket-dir %[2]s --state-dir %[3]s >%[4]s/log 2>&1 & pid=$!
				for i in $(seq 400); do kill -0 $pid 2>/dev/null || break; grep -q serving %[4]s/log && break; sleep 0.05; done
				kill $pid 2>/dev/null; wait $pid; echo "exit $?"; cat %[4]s/log`, e2e.Program(), sockets, dir, base))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatal(err)
			}
			served := strings.Contains(string(out), `"msg":"serving"`)
			if served != (tt.want == "") || !strings.Contains(string(out), tt.want) {
				t.Errorf("serves: %v, want %v, %q in\n%s", served, tt.want == "", tt.want, out)
			}
			if got, err := os.ReadFile(victim); err != nil || string(got) != text {
				t.Errorf("somebody else's file is now %q, %v", got, err)
			}
		})
	}
}
