package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Every link in the documentation leads to a file, and to a heading in it.
func TestLinks(t *testing.T) {
	pages := []string{"../../README.md", "../../helm/README.md", "../README.md", "../how-it-works.md", "../redis-layout.md", "README.md"}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range markdownLink.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, heading, _ := strings.Cut(m[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if heading != "" && !hasHeading(t, target, heading) {
				t.Errorf("%s links to %s: no such heading", page, m[1])
			}
		}
	}
}

var notInAnchor = regexp.MustCompile(`[^a-z0-9 -]`)

func hasHeading(t *testing.T, page, anchor string) bool {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "#"); ok {
			title = notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(strings.TrimLeft(title, "#"))), "")
			if strings.ReplaceAll(title, " ", "-") == anchor {
				return true
			}
		}
	}
	return false
}
