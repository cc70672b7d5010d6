package socket

import (
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// fields are a map reply. What is missing, or not of the type expected, is the
// zero value, so that gateways of other versions can be asked.
type fields map[string]any

func list(v any) (all []fields) {
	items, _ := v.([]any)
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			all = append(all, m)
		}
	}
	return all
}

func (f fields) text(key string) string {
	s, _ := f[key].(string)
	return s
}

func (f fields) number(key string) int64 {
	n, _ := f[key].(int64)
	return n
}

func (f fields) milliseconds(key string) time.Duration {
	return time.Duration(f.number(key)) * time.Millisecond
}

func (f fields) time(key string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, f.text(key)) // the zero time where there is none
	return t
}

func (f fields) view() session.View {
	autoRenew, _ := f["auto_renew"].(bool)
	return session.View{
		Name: f.text("name"), State: session.State(f.text("state")), Owner: backend.Owner(f.text("owner")),
		Thread: f.number("thread"), Count: int(f.number("count")), Fence: backend.Fence(f.number("fence")),
		Left: f.milliseconds("ttl_ms"), Deadline: time.Duration(f.number("valid_until_boottime_ns")),
		Expires: f.time("expires_at"), MaxHoldAt: f.time("max_hold_at"), AutoRenew: autoRenew, Note: f.text("note"),
		Since: f.time("since"),
	}
}

func (f fields) status() session.Status {
	st := session.Status{
		Name: f.text("name"), State: session.State(f.text("state")), Waiters: int(f.number("waiters")),
		Fence: backend.Fence(f.number("fence")), TTL: f.milliseconds("ttl_ms"),
		Mode: backend.Mode(f.number("limit")), Holders: int(f.number("holders")), Trouble: f.text("trouble"),
	}
	if f.text("mode") == backend.Shared.String() {
		st.Mode = backend.Shared
	}
	if m, ok := f["holder"].(map[string]any); ok {
		h := fields(m).holder()
		st.Holder = &h
	}
	for _, s := range list(f["holders_list"]) {
		st.Shares = append(st.Shares, session.Share{Holder: s.holder(), Fence: backend.Fence(s.number("fence")), TTL: s.milliseconds("ttl_ms")})
	}
	for _, waiter := range list(f["queue"]) {
		st.Queue = append(st.Queue, waiter.holder())
	}
	return st
}

func (f fields) holder() session.Holder {
	h := session.Holder{
		Owner: backend.Owner(f.text("owner")), Node: f.text("node"), Session: f.text("session"),
		Peer: session.Peer{PID: int(f.number("pid")), UID: -1, Command: f.text("command")},
		Note: f.text("note"), Since: f.time("since"),
	}
	if uid, ok := f["uid"].(int64); ok {
		h.UID = int(uid)
	}
	return h
}
