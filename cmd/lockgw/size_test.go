package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What releases are built with: nobody speaks msgpack to the gateway, and its codec is a
// seventh of the program.
const releaseTags = "-tags nomsgpack"

// mostBytes is how large a released program may be; docs/install.md says so.
const mostBytes = 48_000_000

func TestReleaseIsSmall(t *testing.T) {
	for _, file := range []string{"Makefile", "deploy/program.sh", "deploy/docker/Dockerfile", "docs/install.md"} {
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), releaseTags) {
			t.Errorf("%s does not build with %s", file, releaseTags)
		}
	}
	program := filepath.Join(t.TempDir(), "lockgw")
	args := append([]string{"build", "-buildvcs=false", "-ldflags", "-s -w", "-o", program}, strings.Fields(releaseTags)...)
	if text, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > mostBytes {
		t.Errorf("the released program has %d bytes, want %d at most", info.Size(), mostBytes)
	}
	t.Logf("%d bytes", info.Size())
}
