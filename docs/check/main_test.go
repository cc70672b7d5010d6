package check

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// root is the project, seen from here.
const root = "../.."

// binDir has the lockgw that the pages' commands run; TestMain builds it, once.
var binDir string

func TestMain(m *testing.M) {
	code, err := buildAndRun(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func buildAndRun(m *testing.M) (int, error) {
	var err error
	if binDir, err = os.MkdirTemp("", "docs-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(binDir)
	build := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(binDir, "lockgw"), root+"/cmd/lockgw")
	if text, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build lockgw: %w\n%s", err, text)
	}
	return m.Run(), nil
}
