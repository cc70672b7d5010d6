package check

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// What a page shows as YAML is YAML, unless it is a template of it; and what has
// the keys of a gateway's configuration is one that the gateway accepts.
func TestYAML(t *testing.T) {
	configs := 0
	for _, page := range pages(t) {
		for _, b := range blocksOf(read(t, page)) {
			if b.lang != "yaml" || strings.Contains(b.code, "{{") {
				continue
			}
			keys, err := topKeys(b.code)
			if err != nil {
				t.Errorf("%s:%d: %v", page, b.line, err)
			}
			if isConfig(keys) {
				configs++
				checkConfig(t, page, b)
			}
		}
	}
	if configs == 0 {
		t.Error("found no configuration in the pages, want some")
	}
}

// topKeys are the outermost keys of all documents of a block.
func topKeys(code string) (keys []string, err error) {
	d := yaml.NewDecoder(strings.NewReader(code))
	for {
		var document map[string]any
		if err := d.Decode(&document); errors.Is(err, io.EOF) {
			return keys, nil
		} else if err != nil {
			return nil, err
		}
		for key := range document {
			keys = append(keys, key)
		}
	}
}

func isConfig(keys []string) bool {
	ours := []string{"admin", "backend", "fairness", "http", "limits", "lock", "log", "node", "session", "shutdown", "socket", "state_dir", "telemetry"}
	foreign := func(key string) bool { return !slices.Contains(ours, key) }
	return len(keys) > 0 && !slices.ContainsFunc(keys, foreign)
}

func checkConfig(t *testing.T, page string, b block) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lockgw.yaml")
	if err := os.WriteFile(file, []byte(b.code), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(binDir, "lockgw"), "config", "check", "--config", file).CombinedOutput()
	if err != nil {
		t.Errorf("%s:%d: %v\n%s", page, b.line, err, out)
	}
}
