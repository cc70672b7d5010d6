package api

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/session"
)

const errorPages = "../docs/errors"

// The type of every problem is the address of a page, which says the same of it as
// the table of codes.
func TestErrorPages(t *testing.T) {
	for code, look := range codes {
		page, err := os.ReadFile(filepath.Join(errorPages, string(code)+".md"))
		if err != nil {
			t.Errorf("%s has no page: %v", code, err)
			continue
		}
		status, title := fmt.Sprintf("\n| %d", look.status), "| "+look.title+" |"
		if _, row, _ := strings.Cut(string(page), status); !strings.Contains(firstLine(row), title) {
			t.Errorf("the page of %s says\n%s\nwant the status %d and the title %q", code, page, look.status, look.title)
		}
	}
}

func TestErrorPagesHaveACode(t *testing.T) {
	files, err := filepath.Glob(errorPages + "/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".md")
		if _, ok := codes[session.Code(name)]; !ok && name != "README" {
			t.Errorf("%s is of no code in errors.go", f)
		}
	}
}

// Each limit is told with the status by which it is refused.
func TestErrorPageOfLimits(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(errorPages, "too_large.md"))
	if err != nil {
		t.Fatal(err)
	}
	for limit, of := range map[int]string{maxBody: "body is longer than %d KiB (413)", maxURL: "URL longer than %d KiB (414)", maxHeaders: "headers longer than %d KiB (431)"} {
		if want := fmt.Sprintf(of, limit>>10); !strings.Contains(string(page), want) {
			t.Errorf("the page does not say: %s", want)
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
