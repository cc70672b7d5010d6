package redis

import "strings"

// keys of one lock, all in one slot of a cluster. The lock, its channel and the
// fence counter are where Redisson has them; the rest is ours.
type keys struct {
	lock, channel, counter             string
	state, queue, entries, last, floor string
}

// keysOf raw, which is the configured prefix and the lock's name.
func keysOf(raw string) keys {
	own := "lockgw:" + tagged(raw) + ":"
	if strings.HasPrefix(raw, "{") && strings.HasSuffix(raw, "}") {
		own = "lockgw:lockgw:" + raw + ":" // "{a}" is another lock than "a"; no name begins with lockgw:
	}
	return keys{
		lock:    raw,
		channel: "redisson_lock__channel:" + tagged(raw),
		counter: "redisson_lock_token:" + tagged(raw),
		state:   own + "s", queue: own + "q", entries: own + "w", last: own + "f", floor: own + "r:",
	}
}

// tagged puts raw into braces, by which a cluster finds the slot, unless it
// brings its own.
func tagged(raw string) string {
	if strings.Contains(raw, "{") {
		return raw
	}
	return "{" + raw + "}"
}

// rawOf is the opposite of keysOf for the keys of a hold or a queue.
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
