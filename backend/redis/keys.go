package redis

import "strings"

// keys of one lock, all in one slot of a cluster. The lock, its channel and the
// fence counter are where Redisson has them; the rest is ours.
type keys struct {
	lock, channel, counter             string
	state, queue, entries, last, floor string
	shares, ends                       string
}

// keysOf raw, which is the configured prefix and the lock's name. They are parts of
// one string: a lock is taken and given back more often than anything else is done.
func keysOf(raw string) keys {
	const channel, counter = "redisson_lock__channel:", "redisson_lock_token:"
	tag, own := tagged(raw), "lockgw:"
	if strings.HasPrefix(raw, "{") && strings.HasSuffix(raw, "}") {
		own = "lockgw:lockgw:" // "{a}" is another lock than "a"; no name begins with lockgw:
	}
	all := channel + tag + counter + tag +
		own + tag + ":s" + own + tag + ":q" + own + tag + ":w" + own + tag + ":f" + own + tag + ":h" + own + tag + ":e" + own + tag + ":r:"
	cut := func(n int) string {
		part := all[:n]
		all = all[n:]
		return part
	}
	n := len(own) + len(tag) + len(":s")
	return keys{
		lock:    raw,
		channel: cut(len(channel) + len(tag)), counter: cut(len(counter) + len(tag)),
		state: cut(n), queue: cut(n), entries: cut(n), last: cut(n),
		shares: cut(n), ends: cut(n), floor: all,
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
