//go:build planted

package planted

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a bug is put in place of has to stand in the sources, once, and what comes in its place has to be
// Go: a bug that is not built is found by nothing.
func TestPlantedTexts(t *testing.T) {
	c := newChecker(t)
	for _, b := range slices.Concat(bugs, lifeBugs, heartBugs, olderBugs, ruleBugs, holdBugs, voteBugs, quorumBugs) {
		src, err := os.ReadFile(filepath.Join("../..", b.file))
		if err != nil {
			t.Errorf("%s: %v", b.name, err)
			continue
		}
		if n := strings.Count(string(src), b.old); n != 1 {
			t.Errorf("%s: in %s what is to be replaced stands %d times, want once:\n%s", b.name, b.file, n, b.old)
			continue
		}
		if filepath.Ext(b.file) == ".go" {
			if err := c.check(b.file, strings.Replace(string(src), b.old, b.new, 1)); err != nil {
				t.Errorf("%s: not built: %v", b.name, err)
			}
		}
	}
}

// checker tells whether a package would be built with another text in place of one file.
type checker struct {
	fset     *token.FileSet
	packages map[string][]string // the files, by folder
	parsed   map[string]*ast.File
	importer types.Importer
}

func newChecker(t *testing.T) *checker {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}\t{{if not .Standard}}{{.Dir}}{{range .GoFiles}}\t{{.}}{{end}}{{end}}", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{fset: token.NewFileSet(), packages: map[string][]string{}, parsed: map[string]*ast.File{}}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		exports[f[0]] = f[1]
		c.packages[f[2]] = f[3:]
	}
	c.importer = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no package %s", path)
		}
		return os.Open(exports[path])
	})
	return c
}

func (c *checker) check(file, src string) error {
	path, err := filepath.Abs(filepath.Join("../..", file))
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	var files []*ast.File
	for _, name := range c.packages[dir] {
		f, err := c.file(filepath.Join(dir, name), path, src)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return errors.New("no package has the file")
	}
	_, err = (&types.Config{Importer: c.importer}).Check(dir, c.fset, files, nil)
	return err
}

// file is that of name, or src for the one at path.
func (c *checker) file(name, path, src string) (*ast.File, error) {
	if name == path {
		return parser.ParseFile(c.fset, name, src, 0)
	}
	if c.parsed[name] == nil {
		f, err := parser.ParseFile(c.fset, name, nil, 0)
		if err != nil {
			return nil, err
		}
		c.parsed[name] = f
	}
	return c.parsed[name], nil
}
