package config

import (
	"os"
	"slices"
	"testing"

	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
)

// What needs a restart is named by the key that was changed: a file of a secret, and not the URL
// that it is put into.
func TestNeedsRestartNamesTheFile(t *testing.T) {
	for _, tt := range []struct {
		change string
		url    string
		want   []string
	}{
		{"nothing", "redis://h/1", nil},
		{"password", "redis://h/1", nil}, // each new connection is made with it
		{"password", "etcd://u@h", nil},
		{"password", "zookeeper://u@h", []string{"backend.password_file"}},
		{"url", "redis://h/1", []string{"backend.url_file"}},
		{"no password", "redis://h/1", []string{"backend.password_file"}},
	} {
		url, password := e2e.SecretFile(t, tt.url), e2e.SecretFile(t, "one")
		args := []string{"--backend-url-file=" + url, "--backend-password-file=" + password}
		running, err := loadWith(t, "", args...)
		if err != nil {
			t.Fatal(err)
		}
		switch tt.change {
		case "password":
			err = os.WriteFile(password, []byte("two"), 0o600)
		case "url":
			err = os.WriteFile(url, []byte("redis://h/2"), 0o600)
		case "no password":
			args = args[:1]
		}
		if err != nil {
			t.Fatal(err)
		}
		next, err := loadWith(t, "", args...)
		if err != nil {
			t.Fatal(err)
		}
		if got := NeedsRestart(&running, &next); !slices.Equal(got, tt.want) {
			t.Errorf("%s, after a change of %s: %q, want %q", tt.url, tt.change, got, tt.want)
		}
	}
	running, err := loadWith(t, "", "--backend-url=redis://h/1")
	if err != nil {
		t.Fatal(err)
	}
	next, err := loadWith(t, "", "--backend-url=redis://h/2")
	if err != nil {
		t.Fatal(err)
	}
	if got := NeedsRestart(&running, &next); !slices.Equal(got, []string{"backend.url"}) {
		t.Errorf("after a change of the URL: %q", got)
	}
}
