package redis

import "strings"

// channelOf is where Redisson's programs tell of a release, of raw, which is the
// configured prefix and the lock's name.
func channelOf(raw string) string { return "redisson_lock__channel:" + tagged(raw) }

// counterOf is Redisson's fence counter.
func counterOf(raw string) string { return "redisson_lock_token:" + tagged(raw) }

// tagged puts raw into braces, by which a cluster finds the slot, unless it
// brings its own.
func tagged(raw string) string {
	if strings.Contains(raw, "{") {
		return raw
	}
	return "{" + raw + "}"
}
