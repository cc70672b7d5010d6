package config

import "testing"

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
