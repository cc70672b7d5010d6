package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// SecretFile has that text, and its owner alone may read it.
func SecretFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
