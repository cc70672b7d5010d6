package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file with a secret that everybody may read is told of. A directory in its place is an error of
// another kind, and to close it would be bad advice.
func TestOpenSecrets(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "`chmod o= " + file + "` keeps it secret", dir: ""} {
		s := Settings{Config: Default()}
		s.Config.Admin.TokenFile = path
		if got := strings.Join(s.openSecrets(), "\n"); !strings.HasSuffix(got, want) || want == "" && got != "" {
			t.Errorf("%s: warnings %q, want %q", path, got, want)
		}
	}
}
