package redlock

import "strings"

// keys of one lock on each node. The lock, its channel and the fence counter are
// where Redisson has them, as with one Redis; the rest is ours.
type keys struct {
	lock, channel, counter    string
	state, waits, last, floor string
	shares, ends              string
}

// keysOf raw, which is the configured prefix and the lock's name.
func keysOf(raw string) keys {
	tag, own := raw, "lockgw:"
	if !strings.Contains(raw, "{") {
		tag = "{" + raw + "}"
	}
	if strings.HasPrefix(raw, "{") && strings.HasSuffix(raw, "}") {
		own = "lockgw:lockgw:" // "{a}" is another lock than "a"; no name begins with lockgw:
	}
	own += tag
	return keys{
		lock: raw, channel: "redisson_lock__channel:" + tag, counter: "redisson_lock_token:" + tag,
		state: own + ":s", waits: own + ":w", last: own + ":f", floor: own + ":r:",
		shares: own + ":h", ends: own + ":e",
	}
}

// rawOf is the opposite of keysOf for the keys of a hold and of those who wait.
func rawOf(key string) string {
	raw := key[:strings.LastIndexByte(key, ':')]
	if tag, ok := strings.CutPrefix(raw, "lockgw:lockgw:"); ok {
		return tag
	}
	raw = strings.TrimPrefix(raw, "lockgw:")
	if strings.HasPrefix(raw, "{") && strings.HasSuffix(raw, "}") {
		return raw[1 : len(raw)-1]
	}
	return raw
}
