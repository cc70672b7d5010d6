package socket

import "testing"

func TestModes(t *testing.T) {
	g := start(t)
	a, b, c := g.dial3(), g.dial3(), g.dial3()
	a.lock("a", "SHARED")
	fence := b.lock("a", "shared")
	told := c.do("LOCKINFO", "a").(map[string]any)["holders_list"].([]any)
	if len(told) != 2 || told[0].(map[string]any)["fence"].(int64) >= fence || told[1].(map[string]any)["fence"] != fence {
		t.Errorf("holders_list = %v, want two, the second with fence %d", told, fence)
	}
	if st, err := g.client().Info(t.Context(), "a"); err != nil || len(st.Shares) != 2 || int64(st.Shares[1].Fence) != fence || st.Shares[1].Node != "host-a" || st.Shares[0].TTL <= 0 {
		t.Errorf("Info = %+v, %v, want both holders", st, err)
	}
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
