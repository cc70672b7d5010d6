package check

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// block is a fenced piece of code in a page.
type block struct {
	lang, code string
	line       int // at which its code begins
}

// first is the block's first line, by which notes name it.
func (b block) first() string {
	line, _, _ := strings.Cut(b.code, "\n")
	return line
}

// commands are the lines that a shell runs, without comments.
func (b block) commands() (lines []string) {
	for line := range strings.Lines(strings.ReplaceAll(b.code, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

// pages are the Markdown files that users read, relative to the root.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md", "helm/README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			path, _ = filepath.Rel(root, path)
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("found %d pages, want those of the project: %q", len(all), all)
	}
	slices.Sort(all)
	return all
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocksOf finds the fenced blocks of a page.
func blocksOf(text string) []block {
	_, blocks := split(text)
	return blocks
}

// proseOf is what of a page is no block.
func proseOf(text string) string {
	prose, _ := split(text)
	return prose
}

func split(text string) (prose string, blocks []block) {
	var b *block
	n := 0
	for line := range strings.Lines(text) {
		n++
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && b == nil:
			b = &block{lang: fence, line: n + 1}
		case isFence:
			switch {
			case strings.HasPrefix(b.code, hostA+"$ "):
				b.lang = "machines"
			case b.lang == "" && strings.HasPrefix(b.code, "$ "):
				b.lang = "console"
			}
			blocks, b = append(blocks, *b), nil
		case b != nil:
			b.code += line
		default:
			prose += line
		}
	}
	return prose, blocks
}

func TestSplit(t *testing.T) {
	prose, got := split("a\n```sh\none \\\n  two # x\n\n# three\n```\nb\n```\nplain\n```\n```\n$ true\n```\n")
	want := []block{{"sh", "one \\\n  two # x\n\n# three\n", 3}, {"", "plain\n", 10}, {"console", "$ true\n", 13}}
	if !slices.Equal(got, want) {
		t.Errorf("blocks = %+v, want %+v", got, want)
	}
	if prose != "a\nb\n" {
		t.Errorf("prose = %q, want what is no block", prose)
	}
	if lines := got[0].commands(); !slices.Equal(lines, []string{"one    two # x"}) {
		t.Errorf("commands = %q, want the two lines as one", lines)
	}
}
