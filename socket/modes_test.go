package socket

import "testing"

func TestModes(t *testing.T) {
	g := start(t)
	a, b, c := g.dial3(), g.dial3(), g.dial3()
	a.lock("a", "SHARED")
	fence := b.lock("a", "shared")
	info := c.do("LOCKINFO", "a").(map[string]any)
	for key, want := range map[string]any{"mode": "shared", "holders": int64(2), "limit": int64(0), "fence": fence} {
		if info[key] != want {
			t.Errorf("%s = %v, want %v", key, info[key], want)
		}
	}
	c.want(nil, "LOCK", "a")
	c.wantError(`CONFLICT lock "a": `, "LOCK", "a", "LIMIT", "2")
	a.wantError(`CONFLICT lock "a": `, "LOCK", "a", "WAIT", "30")
	c.send("LOCK", "a", "WAIT", "30")
	g.waiters(1)
	a.want(int64(0), "UNLOCK", "a")
	b.Close() // a reader that dies is one less
	if got, ok := c.read().(int64); !ok || got <= fence {
		t.Errorf("the writer's fence = %v, want one above %d", got, fence)
	}

	a.lock("s", "LIMIT", "2")
	c.lock("s", "LIMIT", "2")
	d := g.dial3()
	d.want(nil, "LOCK", "s", "LIMIT", "2")
	if info := d.do("LOCKINFO", "s").(map[string]any); info["mode"] != "semaphore" || info["holders"] != int64(2) || info["limit"] != int64(2) {
		t.Errorf("LOCKINFO of a semaphore = %v, want 2 of 2", info)
	}
	d.wantError(`CONFLICT lock "s": `, "LOCK", "s", "LIMIT", "3")
}
