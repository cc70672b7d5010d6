package check

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var quotedTest = regexp.MustCompile("`(Test[A-Z]\\w*)`")

// Every test that the page on stores names exists, and every promise names some.
func TestStoresHaveTests(t *testing.T) {
	page, err := os.ReadFile("../stores.md")
	if err != nil {
		t.Fatal(err)
	}
	sources := allTests(t, "../../backend", "../../session/engine", "../../cmd/lockgw/stores", "../../cmd/lockgw/restarts")
	rows := 0
	for line := range strings.Lines(string(page)) {
		named := quotedTest.FindAllStringSubmatch(line, -1)
		for _, m := range named {
			if !strings.Contains(sources, "\nfunc "+m[1]+"(t *testing.T) {") {
				t.Errorf("there is no %s", m[1])
			}
		}
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| |") {
			continue
		}
		rows++
		if len(named) < 2 {
			t.Errorf("no tests: %s", line)
		}
	}
	if rows < 10 {
		t.Errorf("%d promises, want all", rows)
	}
}

// allTests is the text of all tests below dirs.
func allTests(t *testing.T, dirs ...string) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				all.WriteString(testsIn(t, path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
