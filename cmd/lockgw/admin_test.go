package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secretFile has that text, and its owner alone may read it.
func secretFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadAdminToken(t *testing.T) {
	const good = "a-secret-of-more-than-16"
	for _, tt := range []struct{ text, want string }{
		{"", "is empty"},
		{" \n", "is empty"},
		{"sesame\n", "holds 6 characters, an admin token needs at least 16"},
		{good + " " + good, "more than one word"},
		{strings.Repeat("x", maxSecretFile+1), "is longer than"},
	} {
		if token, err := readAdminToken(secretFile(t, tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40q: %q, %v; want an error with %q", tt.text, token, err, tt.want)
		} else if strings.Contains(err.Error(), "sesame") {
			t.Errorf("%q: the error %q tells the token", tt.text, err)
		}
	}
	if token, err := readAdminToken(secretFile(t, "\n"+good+"\n")); token != good || err != nil {
		t.Errorf("token = %q, %v; want %q", token, err, good)
	}
	if token, err := readAdminToken(""); token != "" || err != nil {
		t.Errorf("without a file: %q, %v; want no token", token, err)
	}
}
