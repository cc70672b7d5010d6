package doors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
