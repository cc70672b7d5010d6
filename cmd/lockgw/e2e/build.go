package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Build builds the program in dir, with the race detector if the test has it. flags are
// added to those of go build.
func Build(dir string, flags ...string) (program string, err error) {
	program = filepath.Join(dir, "lockgw")
	args := append([]string{"build", "-buildvcs=false", "-o", program}, raceFlags...)
	args = append(args, flags...)
	text, err := exec.Command("go", append(args, "github.com/lockgw/lockgw/cmd/lockgw")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build lockgw: %w\n%s", err, bytes.TrimSpace(text))
	}
	return program, nil
}

// program is what Main has built.
var program string

// Main is for the TestMain of a package whose tests ask for Program: it builds the program
// before the tests, where every user can run it, and removes it afterwards.
func Main(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "lockgw-program-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		return 1, err
	}
	if program, err = Build(dir); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// Program is the path of what Main has built.
func Program() string { return program }
