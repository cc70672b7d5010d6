package mysql

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend/mysql/mysqltest"
)

// The doctor looks at all that matters, finds nothing wrong with a server that is well, and says
// where to read on about one that is not there.
func TestExamine(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	var checks []string
	for _, f := range Examine(t.Context(), Config{URL: s.URL()}) {
		checks = append(checks, f.Check)
		if f.Fails || f.Check == "lock" && !strings.Contains(f.Detail, "given back") {
			t.Errorf("%+v", f)
		}
	}
	if want := []string{"connection", "durability", "requests", "lock", "push"}; !slices.Equal(checks, want) {
		t.Errorf("it looks at %q, want %q", checks, want)
	}
	s.Kill()
	if got := Examine(t.Context(), Config{URL: s.URL()}); len(got) != 1 || !got[0].Fails || !strings.Contains(got[0].Remedy, page) {
		t.Errorf("of a server that is not there: %+v", got)
	}
}
