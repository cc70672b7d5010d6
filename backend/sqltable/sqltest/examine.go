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

// Lacks wants that the doctor has found that right to be lacking, and nothing else wrong; "": none.
func Lacks(t *testing.T, found []backend.Finding, right string) {
	t.Helper()
	var fails []string
	for _, f := range found {
		if f.Fails {
			fails = append(fails, f.Detail)
		}
	}
	if right == "" && len(fails) > 0 || right != "" && (len(fails) != 1 || !strings.HasPrefix(fails[0], right+": ") || !strings.Contains(fails[0], "lacks a right")) {
		t.Errorf("without the right to %q it says %q", right, fails)
	}
}
