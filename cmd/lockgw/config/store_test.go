package config

import (
	"fmt"
	"strings"
	"testing"
)

func TestStoreText(t *testing.T) {
	for raw, want := range map[string]string{
		"memory://": "memory://",
		"redis://user:sesame@host:1/2?protocol=2":        "redis://host:1/2",
		"redis+unix:///run/redis.sock?db=1":              "redis+unix:///run/redis.sock",
		"redlock://:a@h1:1,h2:2,h3:3?max_ttl=5m":         "redlock://h1:1,h2:2,h3:3",
		"postgres://u:sesame@h1,h2:2/db?sslmode=require": "postgres://h1,h2:2/db",
		"mysql://u:sesame@h1,h2:2/db?ssl-mode=required":  "mysql://h1,h2:2/db",
		"redis+sentinel://u:p%40ss@h1,h2:5/main?db=3#x":  "redis+sentinel://h1,h2:5/main",
		"zookeeper://u:sesame@h1,h2:2/a/b?session=1m":    "zookeeper://h1,h2:2/a/b",
		"etcd://u:sesame@h1,h2:2/locks?tls=true":         "etcd://h1,h2:2/locks",
	} {
		if got := StoreText(raw); got != want {
			t.Errorf("StoreText(%q) = %q, want %q", raw, got, want)
		}
	}
}

// A password with a /, ? or # in it as it is cannot be told from the rest of the URL, so that a
// part of it would be shown as that.
func TestConfigWantsPasswordsEncoded(t *testing.T) {
	for _, url := range []string{
		"redis://u:%s@h:1/0", "rediss://u:%s@h", "redis+unix://u:%s@/r.sock", "redis+sentinel://u:%s@h1,h2/main", "redis+cluster://u:%s@h1,h2",
		"redlock://u:%s@h1,h2,h3", "etcd://u:%s@h1,h2/locks", "zookeeper://u:%s@h1,h2/locks", "postgres://u:%s@h/db", "mysql://u:%s@h/db",
	} {
		for _, password := range []string{"12/sesame", "12?sesame", "12#sesame", "sesame/12", "sesame?12", "sesame#12", "sesame#", "1?sesame=2"} {
			raw := fmt.Sprintf(url, password)
			if err := CheckBackendURL(raw); err == nil || strings.Contains(err.Error(), "sesame") {
				t.Errorf("CheckBackendURL(%q) = %v, want an error without the password", raw, err)
			}
		}
	}
	_, err := loadWith(t, "backend: {url: 'postgres://h/db', postgres: {listen_url: 'postgres://u:12/sesame@h/db'}}")
	if err == nil || !strings.Contains(err.Error(), "listen_url: has an @ after the host") || strings.Contains(err.Error(), "sesame") {
		t.Errorf("listen_url: %v", err)
	}
}

// What is no URL cannot be shown without the password that may be in it.
func TestListenURLIsURL(t *testing.T) {
	for _, raw := range []string{"host=h password=sesame", "u:sesame@h/db", "redis://u:sesame@h"} {
		_, err := loadWith(t, "backend: {url: 'postgres://h/db', postgres: {listen_url: '"+raw+"'}}")
		if err == nil || !strings.Contains(err.Error(), "listen_url: postgres address: does not begin with postgres://") || strings.Contains(err.Error(), "sesame") {
			t.Errorf("listen_url %q: %v, want an error without the password", raw, err)
		}
	}
}
