package client

import "time"

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

// object is nil where there is none.
func (f fields) object(key string) fields {
	m, _ := f[key].(map[string]any)
	return m
}

func (f fields) flag(key string) bool {
	b, _ := f[key].(bool)
	return b
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

func (f fields) hold() Hold {
	return Hold{
		Name: f.text("name"), State: State(f.text("state")), Owner: f.text("owner"),
		Thread: f.number("thread"), Count: int(f.number("count")), Fence: uint64(f.number("fence")),
		Left: f.milliseconds("ttl_ms"), Deadline: time.Duration(f.number("valid_until_boottime_ns")),
		Expires: f.time("expires_at"), MaxHoldAt: f.time("max_hold_at"), AutoRenew: f.flag("auto_renew"), Note: f.text("note"),
		Since: f.time("since"),
	}
}

func (f fields) status() Status {
	st := Status{
		Name: f.text("name"), State: State(f.text("state")), Holder: f.holderOf("holder"), Next: f.holderOf("next"),
		Waiters: int(f.number("waiters")), MoreWait: f.flag("waiters_at_least"), Ahead: int(f.number("ahead")),
		Fence: uint64(f.number("fence")), TTL: f.milliseconds("ttl_ms"),
		Mode: Mode(f.text("mode")), Limit: int(f.number("limit")), Holders: int(f.number("holders")), Trouble: f.text("trouble"),
	}
	for _, s := range list(f["holders_list"]) {
		st.Shares = append(st.Shares, Share{Holder: s.holder(), Fence: uint64(s.number("fence")), TTL: s.milliseconds("ttl_ms")})
	}
	for _, n := range list(f["silent"]) {
		st.Silent = append(st.Silent, Silent{Node: n.text("node"), AsOf: n.time("as_of")})
	}
	for _, waiter := range list(f["queue"]) {
		st.Queue = append(st.Queue, waiter.holder())
	}
	return st
}

// holderOf is nil where there is none.
func (f fields) holderOf(key string) *Holder {
	m := f.object(key)
	if m == nil {
		return nil
	}
	h := m.holder()
	return &h
}

func (f fields) holder() Holder {
	h := Holder{
		Owner: f.text("owner"), Node: f.text("node"), Session: f.text("session"),
		Process: Process{PID: int(f.number("pid")), UID: -1, Command: f.text("command")},
		Note:    f.text("note"), Since: f.time("since"),
	}
	if uid, ok := f["uid"].(int64); ok {
		h.UID = int(uid)
	}
	if by := f.holderOf("asked_by"); by != nil {
		h.AskedBy = &by.Process
	}
	return h
}

func (f fields) summary() Summary {
	s := Summary{
		ID: f.text("id"), UUID: f.text("uuid"), Name: f.text("name"), Since: f.time("since"),
		Process: f.holder().Process, Life: Life(f.text("life")), BoundPID: int(f.number("bound_pid")), Connections: int(f.number("connections")),
		TTL: f.milliseconds("ttl_ms"), Keepalive: f.milliseconds("keepalive_ms"), Left: f.milliseconds("keepalive_left_ms"),
		MaxHold: f.milliseconds("max_hold_ms"),
		Holds:   int(f.number("holds")), Locks: texts(f["locks"]), Waits: int(f.number("waits")), Queues: texts(f["queues"]),
	}
	if meta := f.object("meta"); len(meta) > 0 {
		s.Meta = map[string]string{}
		for k := range meta {
			s.Meta[k] = meta.text(k)
		}
	}
	return s
}

func texts(v any) (all []string) {
	items, _ := v.([]any)
	for _, item := range items {
		if s, ok := item.(string); ok {
			all = append(all, s)
		}
	}
	return all
}
