package config

import "slices"

// NeedsRestart lists the keys whose value in next is in force only after a restart.
func NeedsRestart(running, next *Settings) []string {
	keys := []string{}
	for _, f := range fields() {
		if f.reload || f.text(&next.Config) == f.text(&running.Config) {
			continue
		}
		key := f.key
		if key == "backend.url" {
			key = urlKey(running, next)
		}
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
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
