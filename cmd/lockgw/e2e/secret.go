package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// SecretFile writes text to a file that only its owner may read.
func SecretFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
