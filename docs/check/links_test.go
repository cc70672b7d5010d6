package check

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Every link of every page leads to a file, and to a heading in it.
func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		for _, m := range markdownLink.FindAllStringSubmatch(proseOf(read(t, page)), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, heading, _ := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if heading != "" && !hasHeading(t, target, heading) {
				t.Errorf("%s links to %s: no such heading", page, m[1])
			}
		}
	}
}

// The index of the documentation has every page but those that an index of their
// own has.
func TestIndex(t *testing.T) {
	index := read(t, "docs/README.md")
	for _, page := range pages(t) {
		name, ok := strings.CutPrefix(page, "docs/")
		if !ok || name == "README.md" || strings.HasPrefix(name, "errors/") && name != "errors/README.md" {
			continue
		}
		if !strings.Contains(index, "]("+name+")") {
			t.Errorf("docs/README.md has no link to %s", name)
		}
	}
}

var notInAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)

func hasHeading(t *testing.T, page, anchor string) bool {
	t.Helper()
	for line := range strings.Lines(proseOf(read(t, page))) {
		if title, ok := strings.CutPrefix(line, "#"); ok {
			title = notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(strings.TrimLeft(title, "#"))), "")
			if strings.ReplaceAll(title, " ", "-") == anchor {
				return true
			}
		}
	}
	return false
}
