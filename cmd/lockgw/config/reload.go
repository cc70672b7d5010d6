package config

import (
	"slices"
	"strings"
)

// NeedsRestart lists the keys whose value in next is in force only after a restart.
func NeedsRestart(running, next *Settings) []string {
	keys := []string{}
	for _, f := range fields() {
		if f.reload || f.text(&next.Config) == f.text(&running.Config) {
			continue
		}
		key := f.key
		if key == "backend.url" {
			if loggedInAnew(running, next) {
				continue
			}
			key = urlKey(running, next)
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// loggedInAnew: nothing but the password in the file is another, and each new connection to the store
// is made with that. In ZooKeeper another password is another owner of what is stored.
func loggedInAnew(running, next *Settings) bool {
	was, is := running.Backend.PasswordFile, next.Backend.PasswordFile
	scheme, _, _ := strings.Cut(next.Backend.URL, "://")
	return is != "" && was == is && running.withoutPassword == next.withoutPassword && scheme != "zookeeper"
}

// urlKey is by which key another URL has come. What is in its files is put into it.
func urlKey(running, next *Settings) string {
	was, is := running.Backend.PasswordFile, next.Backend.PasswordFile
	switch {
	case was+is != "" && running.withoutPassword == next.withoutPassword:
		return "backend.password_file"
	case next.Backend.URLFile != "":
		return "backend.url_file"
	default:
		return "backend.url"
	}
}
