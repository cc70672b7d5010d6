//go:build planted

// Package planted puts known bugs into copies of the core, one at a time, and
// expects the core's tests to find each. A rule whose bug is not found is a rule
// without a test. Run it by make planted; it compiles the tests once for each bug.
package planted

import (
	"cmp"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// bug replaces old by new in file, a path from the module's root.
type bug struct {
	name string // the rule that is broken
	file string
	old  string
	new  string
	test string   // the packages whose tests have to fail, "" for session
	run  string   // which of them, "" for those that most bugs in package redis need
	args []string // of the tests of package model
}

func TestPlanted(t *testing.T) {
	plant(t, func(pkg string) bool { return pkg != redis && pkg != redlock && !heart(pkg) })
}

var part = flag.Int("part", 0, "of the bugs in scripts and in the rules only this third: 1, 2 or 3")

// TestPlantedScripts takes longer: its tests ask a real Redis.
func TestPlantedScripts(t *testing.T) {
	n := 0
	plant(t, func(pkg string) bool {
		if pkg != redis && pkg != redlock {
			return false
		}
		n++
		return *part == 0 || n%3 == *part-1
	})
}

// TestPlantedHeart has what the rules of a lock are made of.
func TestPlantedHeart(t *testing.T) {
	n := 0
	plant(t, func(pkg string) bool {
		if !heart(pkg) {
			return false
		}
		n++
		return *part == 0 || n%3 == *part-1
	})
}

func heart(pkg string) bool { return pkg == ledger || pkg == contender || pkg == model }

const (
	ledger    = "./backend/ledger"
	contender = "./session/contender"
	model     = "./session/contender/model"
	redis     = "./backend/redis"
	redlock   = "./backend/redlock"
)

// tries: some bugs show only in some of the orders in which goroutines may run.
const tries = 3

func plant(t *testing.T, which func(pkg string) bool) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range slices.Concat(bugs, lifeBugs, heartBugs) {
		if which(b.test) {
			t.Run(strings.ReplaceAll(b.name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				find(t, root, b)
			})
		}
	}
}

func find(t *testing.T, root string, b bug) {
	file := filepath.Join(root, b.file)
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(src), b.old); n != 1 {
		t.Fatalf("%s: what is to be replaced stands there %d times, want once:\n%s", b.file, n, b.old)
	}
	dir := t.TempDir()
	changed := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(changed, []byte(strings.Replace(string(src), b.old, b.new, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: changed}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	pkg := b.test
	if pkg == "" {
		pkg = "./session"
	}
	args := []string{"test", "-vet=off", "-count=1", "-failfast", "-overlay=" + list}
	switch pkg {
	case redis:
		args = append(args, "-timeout=2m", "-run="+cmp.Or(b.run, "^Test(Backend|Layout|NoKey|Redisson|LockTaken|String|OutOf|Fences|KeyPrefix|Options)"))
	case redlock:
		args = append(args, "-timeout=2m", "-run="+b.run)
	case model:
		args = append(args, "-timeout=5m")
	default:
		args = append(args, "-timeout=30s") // ten times what they take; a bug may show as a waiter that is stuck
	}
	for range tries {
		cmd := exec.Command("go", slices.Concat(args, []string{pkg}, b.args)...)
		cmd.Dir = root
		out, err := cmd.CombinedOutput()
		switch {
		case err == nil:
			t.Log("not found")
			continue
		case strings.Contains(string(out), "[build failed]"), strings.HasPrefix(pkg, "./backend/red") && strings.Contains(string(out), "test timed out"), !strings.Contains(string(out), "FAIL"):
			t.Errorf("no verdict:\n%s", out)
		default:
			t.Log(summary(string(out)))
		}
		return
	}
	t.Errorf("not found %d times: the tests of %s pass with\n%s\nin place of\n%s", tries, pkg, b.new, b.old)
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
