package socket

import (
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/access"
	goclient "github.com/lockgw/lockgw/socket/client"
	"github.com/lockgw/lockgw/socket/resp"
)

var sesame = access.Config{AdminToken: "sesame", Rules: []access.Rule{
	{Who: []string{"anyone"}, May: []string{"lock"}, Locks: []string{"*"}},
	{Who: []string{"user:12345"}, May: []string{"admin"}, Locks: []string{"mine/*"}},
}}

func TestSessionList(t *testing.T) {
	g := start(t, withAccess(controlOf(t, sesame)))
	s, token, err := g.m.Open(session.Options{
		Name: "jobs", Meta: map[string]string{"team": "storage"}, Peer: session.Peer{PID: 4411, UID: 1000, Command: "backup.sh"},
		TTL: 20 * time.Second, Keepalive: time.Minute, MaxHold: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mine/a", "secret"} {
		if _, err := s.Acquire(t.Context(), name, session.Acquire{}); err != nil {
			t.Fatal(err)
		}
	}
	other := g.dial()
	other.lock("secret/b")
	g.client() // in no session

	c := g.client()
	page, next, err := c.Sessions(t.Context(), goclient.SessionQuery{Token: "sesame", Prefix: "jo", Count: 5})
	if err != nil || next != "" || len(page) != 1 {
		t.Fatalf("sessions = %+v, next %q, err %v, want jobs alone", page, next, err)
	}
	want, _ := g.m.Sessions(session.Query{Prefix: "jo", Limit: 1})
	got := page[0]
	if got.Left <= 0 || got.Left > time.Minute || !got.Since.Equal(want[0].Since) {
		t.Errorf("left %v, since %v, want up to 1 min, %v", got.Left, got.Since, want[0].Since)
	}
	got.Left, got.Since = want[0].Left, want[0].Since
	if want := summaryOf(want[0]); !reflect.DeepEqual(got, want) {
		t.Errorf("session = %+v, want %+v", got, want)
	}

	first, next, err := c.Sessions(t.Context(), goclient.SessionQuery{Token: "sesame", Count: 1})
	second, end, err2 := c.Sessions(t.Context(), goclient.SessionQuery{Token: "sesame", Count: 1, Cursor: next})
	if err != nil || err2 != nil || len(first) != 1 || len(second) != 1 || first[0].ID >= second[0].ID || next != first[0].ID || end != "" {
		t.Errorf("pages %v (next %q, %v), %v (next %q, %v), want one session on each", first, next, err, second, end, err2)
	}
	i := slices.IndexFunc([]string{first[0].ID, second[0].ID}, func(id string) bool { return id != s.ID() })
	if conn := [][]goclient.Summary{first, second}[i][0]; conn.Life != goclient.LifeConnection || conn.Connections != 1 || conn.Process.UID != 12345 {
		t.Errorf("session = %+v, want one that lives by its connection", conn)
	}

	// of some names
	page, _, err = c.Sessions(t.Context(), goclient.SessionQuery{})
	if err != nil || len(page) != 1 || !slices.Equal(page[0].Locks, []string{"mine/a"}) || page[0].Holds != 1 {
		t.Errorf("sessions = %+v, err %v, want that of mine/a, and no other name", page, err)
	}
	reply := g.dial().do("SESSION", "LIST", "TOKEN", "sesame") // RESP2
	if text := strings.Join(flat(reply), " "); !strings.Contains(text, "team storage") || strings.Contains(text, token.Secret()) {
		t.Errorf("reply = %s, want the meta and no token", text)
	}
}

// summaryOf is s as the client has to tell it.
func summaryOf(s session.Summary) goclient.Summary {
	return goclient.Summary{
		ID: s.ID, UUID: s.UUID, Name: s.Name, Meta: s.Meta, Process: goclient.Process(s.Peer), Since: s.Since,
		Life: goclient.Life(s.Life), BoundPID: s.Process, Connections: s.Conns, TTL: s.TTL, Keepalive: s.Keepalive, Left: s.Left,
		MaxHold: s.MaxHold, Holds: s.Holds, Locks: s.Locks, Waits: s.Waits, Queues: s.Queues,
	}
}

func flat(v any) (all []string) {
	items, ok := v.([]any)
	if !ok {
		s, _ := v.(string)
		return []string{s}
	}
	for _, item := range items {
		all = append(all, flat(item)...)
	}
	return all
}

func TestSessionListRefused(t *testing.T) {
	g := start(t, withAccess(controlOf(t, access.Config{AdminToken: "sesame"})))
	w := g.dial()
	w.wantError("NOAUTH", "SESSION", "LIST")
	w.wantError("NOAUTH", "SESSION", "LIST", "TOKEN", "nonsense")
	for _, args := range [][]string{{"COUNT", "0"}, {"COUNT", "1001"}, {"COUNT"}, {"CURSOR"}, {"PREFIX", "a", "PREFIX", "b"}, {"ALL"}} {
		w.wantError("INVALID", append([]string{"SESSION", "LIST", "TOKEN", "sesame"}, args...)...)
	}
	w.want([]any{"", []any{}}, "SESSION", "LIST", "TOKEN", "sesame")
	w.want([]any{"", []any{}}, "session", "list", "token", "sesame", "cursor", "zzzzzzzz")
}

func TestSessionKill(t *testing.T) {
	g := start(t, withAccess(controlOf(t, sesame)))
	holder, admin := g.dial3(), g.dial()
	fence := holder.lock("a")
	holder.lock("mine/b")
	page, _ := g.m.Sessions(session.Query{Limit: 1})
	id := page[0].ID
	admin.wantError("INVALID wrong number", "SESSION", "KILL")
	admin.wantError("INVALID", "SESSION", "KILL", id, "TOKEN")
	admin.wantError("INVALID", "SESSION", "KILL", id, "FORCE")
	admin.wantError("NOAUTH", "SESSION", "KILL", id) // who administers some of its names
	admin.wantError("NOAUTH", "SESSION", "KILL", id, "TOKEN", "nonsense")
	admin.wantError("NOSESSION", "SESSION", "KILL", "nobody", "TOKEN", "sesame")
	names := flat(admin.do("SESSION", "KILL", id, "TOKEN", "sesame"))
	if slices.Sort(names); !slices.Equal(names, []string{"a", "mine/b"}) {
		t.Errorf("released %q, want a and mine/b", names)
	}
	// its client is told by a push, which does not come in any order
	pushes := []any{holder.read(), holder.read()}
	if !slices.ContainsFunc(pushes, func(p any) bool {
		return reflect.DeepEqual(p, resp.Push{"lockgw", "lost", "a", fence, "session_ended"})
	}) {
		t.Errorf("pushes = %v, want that a is lost", pushes)
	}
	holder.wantError("NOSESSION", "LOCK", "a")
	admin.wantError("NOSESSION", "SESSION", "KILL", id, "TOKEN", "sesame")
	admin.lock("a")
}

// The limit of requests is none for whoever shows the admin token, as it is over HTTP.
func TestSessionListHasNoRate(t *testing.T) {
	cfg := sesame
	cfg.Rate = access.Rate{PerSecond: 1}
	g := start(t, withAccess(controlOf(t, cfg)))
	c := g.dial()
	for range 3 {
		if v := c.do("SESSION", "LIST", "TOKEN", "sesame"); !isList(v) {
			t.Errorf("SESSION LIST with the admin token = %v, want a list", v)
		}
	}
}

func isList(v any) bool { _, ok := v.([]any); return ok }

// All sessions of a user end at once, and no others.
func TestSessionKillUser(t *testing.T) {
	g := start(t, withAccess(controlOf(t, sesame)))
	holder, admin := g.dial3(), g.dial()
	holder.lock("a")
	const me = "user:12345" // as the fixture has it
	admin.wantError("INVALID wrong number", "SESSION", "KILL", "USER")
	admin.wantError("NOAUTH", "SESSION", "KILL", "USER", me)
	for _, bad := range []string{"alice", "user:", "user:alice", "user:-1", "group:5", ""} {
		admin.wantError("INVALID user", "SESSION", "KILL", "USER", bad, "TOKEN", "sesame")
	}
	admin.want(int64(0), "SESSION", "KILL", "USER", "user:4242", "TOKEN", "sesame")
	admin.want(int64(1), "SESSION", "KILL", "USER", "user:0012345", "TOKEN", "sesame")
	admin.lock("a")
}

// The session ends, but the reply says that its locks are not free yet.
func TestSessionKillWithoutStore(t *testing.T) {
	var mute atomic.Bool
	g := start(t, withAccess(controlOf(t, sesame)), withDeafStore(func(verb string) bool { return verb == "release" && mute.Load() }))
	holder, admin := g.dial(), g.client()
	holder.lock("a")
	page, _ := g.m.Sessions(session.Query{Limit: 1})
	mute.Store(true)
	_, err := admin.KillSession(t.Context(), page[0].ID, "sesame")
	wantWord(t, err, "UNAVAILABLE")
	if err == nil || !strings.Contains(err.Error(), "the session has ended") {
		t.Errorf("err = %v, want it to say that the session has ended", err)
	}
	holder.wantError("NOSESSION", "UNLOCK", "a")
	mute.Store(false)
	g.dial().lock("a", "WAIT", "60")
}
