package redis

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/backend/redis/redistest"
)

func openURL(t *testing.T, url string) *Table {
	t.Helper()
	b, err := OpenTable(Config{URL: url, Node: backend.Node{ID: "n"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func configSet(t *testing.T, s *redistest.Server, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if err := s.Client().ConfigSet(t.Context(), pairs[i], pairs[i+1]).Err(); err != nil {
			t.Fatalf("CONFIG SET %s %s: %v", pairs[i], pairs[i+1], err)
		}
	}
}

func TestEviction(t *testing.T) {
	s := redistest.Start(t)
	b := openURL(t, s.URL())
	for _, tt := range []struct {
		limit, policy string
		drops         bool
	}{
		{"0", "noeviction", false},
		{"0", "allkeys-lru", false},
		{"104857600", "noeviction", false},
		{"104857600", "allkeys-lru", true},
		{"104857600", "allkeys-random", true},
		{"104857600", "volatile-lru", true},
		{"104857600", "volatile-ttl", true},
	} {
		configSet(t, s, "maxmemory", tt.limit, "maxmemory-policy", tt.policy)
		e, err := b.Eviction(t.Context())
		if err != nil || fmt.Sprint(e.MaxMemory) != tt.limit || e.Policy != tt.policy {
			t.Errorf("eviction = %+v, %v, want maxmemory %s and %s", e, err, tt.limit, tt.policy)
		}
		switch err := e.Err(); {
		case (err != nil) != tt.drops:
			t.Errorf("maxmemory %s, %s: err = %v, want one: %v", tt.limit, tt.policy, err, tt.drops)
		case err != nil && (!strings.Contains(err.Error(), tt.policy) || !strings.Contains(err.Error(), "CONFIG SET maxmemory-policy noeviction")):
			t.Errorf("err = %v, want one with the policy and how to mend it", err)
		}
	}
}

// Providers forbid one question or both; no answer is something else.
func TestEvictionForbidden(t *testing.T) {
	s := redistest.Start(t, "--maxmemory", "100mb", "--maxmemory-policy", "volatile-ttl", "--requirepass", "p",
		"--user", "config", "on", ">p", "~*", "&*", "+@all", "-info",
		"--user", "info", "on", ">p", "~*", "&*", "+@all", "-config",
		"--user", "nothing", "on", ">p", "~*", "&*", "+@all", "-config", "-info")
	known := Eviction{MaxMemory: 100 << 20, Policy: "volatile-ttl"}
	for user, want := range map[string]Eviction{"config": known, "info": known, "nothing": {}} {
		got, err := openURL(t, "redis://"+user+":p@"+s.Addr).Eviction(t.Context())
		if err != nil || got != want {
			t.Errorf("as %s: eviction = %+v, %v, want %+v", user, got, err, want)
		}
	}
	if e, err := openURL(t, s.URL()).Eviction(t.Context()); !errors.Is(err, backend.ErrRefused) {
		t.Errorf("without a password: eviction = %+v, %v, want %v", e, err, backend.ErrRefused)
	}
	s.Kill()
	if e, err := openURL(t, "redis://info:p@"+s.Addr).Eviction(t.Context()); !errors.Is(err, backend.ErrUnreachable) {
		t.Errorf("without a server: eviction = %+v, %v, want %v", e, err, backend.ErrUnreachable)
	}
}
