package socket

import "testing"

// A session for one lock ends when that was given back, whoever does it; another does not.
func TestSessionOfOneLock(t *testing.T) {
	g := start(t)
	w, other := g.dial(), g.dial()
	token := w.do("SESSION", "NEW", "KEEPALIVE", "600", "ONELOCK").(string)
	w.lock("a")
	w.lock("a")
	other.want("OK", "AUTH", token)
	other.want(int64(1), "UNLOCK", "a")
	w.want(int64(0), "UNLOCK", "a")
	other.wantError("NOSESSION ", "LOCK", "a")
	w.wantError("NOSESSION ", "UNLOCK", "a")

	w = g.dial()
	w.do("SESSION", "NEW", "KEEPALIVE", "600")
	w.lock("a")
	w.want(int64(0), "UNLOCK", "a")
	w.lock("a")
}
