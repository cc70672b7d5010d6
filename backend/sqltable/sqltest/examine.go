package sqltest

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend"
)

// Examine wants that the doctor looks at these, finds nothing wrong with a server that is well, and
// says on which page to read on about one that is not there.
func Examine(t *testing.T, server interface{ Kill() }, examine func() []backend.Finding, page string, want ...string) {
	t.Helper()
	var checks []string
	for _, f := range examine() {
		checks = append(checks, f.Check)
		if f.Fails || f.Check == "lock" && !strings.Contains(f.Detail, "given back") {
			t.Errorf("%+v", f)
		}
	}
	if !slices.Equal(checks, want) {
		t.Errorf("it looks at %q, want %q", checks, want)
	}
	server.Kill()
	if got := examine(); len(got) != 1 || !got[0].Fails || !strings.Contains(got[0].Remedy, page) {
		t.Errorf("of a server that is not there: %+v", got)
	}
}
