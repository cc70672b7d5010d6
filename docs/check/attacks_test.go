package check

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	attackTests  = regexp.MustCompile("((?:`Test\\w+`(?:, )?)+) in ((?:`[\\w/]+`(?: and )?)+)")
	attackQuoted = regexp.MustCompile("`([\\w/]+)`")
)

// Each row of the table of attacks names a test, and the packages that it names have it.
func TestAttacksHaveTests(t *testing.T) {
	page, err := os.ReadFile("../security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "## Attacks, and what happens\n")
	if !found {
		t.Fatal("docs/security.md has no table of attacks")
	}
	rows := 0
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| what somebody does") {
			continue
		}
		rows++
		named := attackTests.FindAllStringSubmatch(line, -1)
		if len(named) == 0 {
			t.Errorf("no test: %s", line)
		}
		for _, m := range named {
			for _, dir := range attackQuoted.FindAllStringSubmatch(m[2], -1) {
				sources := testsIn(t, filepath.Join("../..", dir[1]))
				for _, test := range attackQuoted.FindAllStringSubmatch(m[1], -1) {
					if !strings.Contains(sources, "\nfunc "+test[1]+"(t *testing.T) {") {
						t.Errorf("%s has no %s", dir[1], test[1])
					}
				}
			}
		}
	}
	if rows < 15 {
		t.Errorf("%d rows, want all", rows)
	}
}

func testsIn(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
