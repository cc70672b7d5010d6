//go:build planted

package planted

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// tries: some bugs show only in some of the orders in which goroutines may run.
const tries = 3

const core = "./session"

var failed = regexp.MustCompile(`(?m)^(\s*--- FAIL|panic:|fatal error:|FAIL$)`)

// find expects the tests to fail with b in the sources.
func find(t *testing.T, b bug) {
	pkg := cmp.Or(b.test, core)
	file := filepath.Join(root(t), b.file)
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(src), b.old); n != 1 {
		t.Fatalf("%s: what is to be replaced stands there %d times, want once:\n%s", b.file, n, b.old)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, filepath.Base(file))
	write(t, changed, []byte(strings.Replace(string(src), b.old, b.new, 1)))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	write(t, list, overlay)
	limit := patience(t, pkg)
	program := build(t, dir, pkg, "-overlay="+list)
	for range tries {
		for _, args := range rounds(b, pkg) {
			switch out, passed := run(t, program, pkg, limit, args); {
			case passed:
			case real(pkg) && strings.Contains(out, "test timed out"), !failed.MatchString(out):
				t.Fatalf("no verdict:\n%s", out)
			default:
				t.Log(summary(out))
				return
			}
		}
		t.Log("not found")
	}
	t.Errorf("not found %d times: the tests of %s pass with\n%s\nin place of\n%s", tries, pkg, b.new, b.old)
}

// real: the tests of pkg start servers, so that they may be late without any bug.
func real(pkg string) bool { return pkg == redis }

// rounds are the arguments of the tests: first of those that take little time.
func rounds(b bug, pkg string) [][]string {
	switch pkg {
	case core:
		return [][]string{{"-test.run=" + b.run, "-test.skip=^TestChaos$"}, {"-test.run=^TestChaos$"}}
	case redis:
		return [][]string{{"-test.run=" + cmp.Or(b.run, "^TestTable")}}
	}
	return [][]string{slices.Concat([]string{"-test.run=" + b.run}, b.args)}
}

// build compiles the tests of pkg.
func build(t *testing.T, dir, pkg string, more ...string) string {
	t.Helper()
	program := filepath.Join(dir, "planted.test")
	args := slices.Concat([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", program}, more, []string{pkg})
	cmd := exec.Command("go", args...)
	cmd.Dir = root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the tests of %s are not built:\n%s", pkg, out)
	}
	return program
}

// run runs the tests in the directory of pkg, as go test does.
func run(t *testing.T, program, pkg string, limit time.Duration, args []string) (out string, passed bool) {
	t.Helper()
	cmd := exec.Command(program, slices.Concat([]string{"-test.paniconexit0", "-test.failfast", "-test.timeout=" + limit.String()}, args)...)
	cmd.Dir = filepath.Join(root(t), pkg)
	cmd.WaitDelay = 10 * time.Second // a server that outlives a panic keeps the output open
	b, _ := cmd.CombinedOutput()
	return string(b), cmd.ProcessState != nil && cmd.ProcessState.Success()
}

var (
	measuring sync.Mutex
	measured  = map[string]time.Duration{}
)

// patience is how long the tests of pkg may take. A bug may show as a waiter that is
// stuck, so it is short where no server is needed: several times what the tests take
// here and now with the code as it is, which have to pass.
func patience(t *testing.T, pkg string) time.Duration {
	t.Helper()
	if real(pkg) || pkg == model {
		return 5 * time.Minute
	}
	measuring.Lock()
	defer measuring.Unlock()
	if measured[pkg] == 0 {
		program := build(t, t.TempDir(), pkg)
		start := time.Now()
		for _, args := range rounds(bug{}, pkg) {
			if out, passed := run(t, program, pkg, 5*time.Minute, args); !passed {
				t.Fatalf("the tests of %s fail without any bug:\n%s", pkg, out)
			}
		}
		measured[pkg] = max(15*time.Second, 5*time.Since(start))
	}
	return measured[pkg]
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// summary is the first sign of the failure.
func summary(out string) string {
	for _, line := range strings.Split(out, "\n") {
		if strings.Contains(line, "_test.go:") || strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			return strings.TrimSpace(line)
		}
	}
	return "it fails"
}
