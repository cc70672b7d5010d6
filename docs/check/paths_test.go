package check

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// codePath is a path of this repository between backquotes.
var codePath = regexp.MustCompile("`((?:api|backend|bench|cmd|deploy|docs|helm|session|socket)/[A-Za-z0-9_./-]+)`")

// What CONTRIBUTING.md, SECURITY.md and the pages say of the sources is there.
func TestPaths(t *testing.T) {
	found := 0
	for _, page := range pages(t) {
		if page == "CHANGELOG.md" { // tells what once was
			continue
		}
		for _, m := range codePath.FindAllStringSubmatch(proseOf(read(t, page)), -1) {
			found++
			path := strings.TrimSuffix(m[1], "/...")
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s names %s: %v", page, m[1], err)
			}
		}
	}
	if found < 15 {
		t.Errorf("found %d paths, want those of CONTRIBUTING.md among others", found)
	}
}
