package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The manual pages are made where a release is built, and are for every machine and user.
func TestManualPages(t *testing.T) {
	dir := t.TempDir()
	root := newRootCommand()
	root.SetArgs([]string{"man", dir})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d manual pages, %v", len(files), err)
	}
	described := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for flag, want := range map[string]string{
			"node": "the host name", "state-dir": "/var/lib/lockgw, or $XDG_STATE_HOME", "socket-dir": "/run/lockgw, or $XDG_RUNTIME_DIR",
		} {
			_, rest, ok := strings.Cut(string(text), `\fB--`+flag+`\fP=`)
			if !ok {
				continue
			}
			described++
			if !strings.HasPrefix(rest, want) {
				t.Errorf("%s: --%s is %.40q, want %s", filepath.Base(file), flag, rest, want)
			}
		}
	}
	if described < 3 {
		t.Errorf("%d of the flags are in the pages, want all three", described)
	}
}
