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

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
