package socket

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/resp"
)

// event is the payload of a message that has to be of kind, channel and so on.
func (w *wire) event(prefix ...any) (m message) {
	w.t.Helper()
	got := w.read()
	if p, ok := got.(resp.Push); ok {
		got = []any(p)
	}
	all, _ := got.([]any)
	if len(all) != len(prefix)+1 || !reflect.DeepEqual(all[:len(prefix)], prefix) {
		w.t.Fatalf("message = %v, want %v and a payload", got, prefix)
	}
	if err := json.Unmarshal([]byte(all[len(prefix)].(string)), &m); err != nil {
		w.t.Fatalf("payload %v: %v", all[len(prefix)], err)
	}
	return m
}

func TestSubscribe(t *testing.T) {
	g := start(t)
	w, other := g.dial(), g.dial()
	w.want([]any{"subscribe", "lock:a", int64(1)}, "SUBSCRIBE", "lock:a")
	w.want([]any{"psubscribe", "lock:sh*", int64(2)}, "psubscribe", "lock:sh*")
	fence := other.lock("a")
	m := w.event("message", "lock:a")
	if m.Event != "acquired" || m.Lock != "a" || int64(m.Fence) != fence || m.Thread != 1 || m.Time.IsZero() || m.Owner == "" {
		t.Errorf("message = %+v, want acquired with fence %d", m, fence)
	}
	other.lock("b")
	other.lock("shop")
	if m := w.event("pmessage", "lock:sh*", "lock:shop"); m.Event != "acquired" || m.Lock != "shop" {
		t.Errorf("message = %+v, want acquired of shop", m)
	}
	other.want(int64(0), "UNLOCK", "a")
	if m := w.event("message", "lock:a"); m.Event != "released" {
		t.Errorf("message = %+v, want released", m)
	}
	other.lock("a", "MAXHOLD", "0.03")
	w.event("message", "lock:a")
	if m := w.event("message", "lock:a"); m.Event != "lost" || m.Reason != "max_hold" || m.Holder.HeldMS < 30 {
		t.Errorf("message = %+v, want lost with its reason, held for 30 ms", m)
	}
	w.want([]any{"unsubscribe", "lock:a", int64(1)}, "UNSUBSCRIBE", "lock:a")
	other.lock("a")
	w.silent()
	w.want([]any{"punsubscribe", "lock:sh*", int64(0)}, "PUNSUBSCRIBE")
	w.want("PONG", "PING")
	w.lock("c")
}

// Each pattern is for itself, however much they are alike.
func TestPatterns(t *testing.T) {
	g := start(t)
	w, other := g.dial(), g.dial()
	patterns := []string{"lock:ab*", "lock:ac*", "lock:abc*", "lock:*"}
	for i, p := range patterns {
		w.want([]any{"psubscribe", p, int64(i + 1)}, "PSUBSCRIBE", p)
	}
	w.want([]any{"punsubscribe", "lock:ab", int64(4)}, "PUNSUBSCRIBE", "lock:ab")     // is none of them
	w.want([]any{"punsubscribe", "lock:abd*", int64(4)}, "PUNSUBSCRIBE", "lock:abd*") // nor is that
	heard := func(name string, want ...string) {
		t.Helper()
		other.lock(name)
		var got []string
		for range want {
			m, _ := w.read().([]any)
			if len(m) != 4 || m[0] != "pmessage" || m[2] != "lock:"+name {
				t.Fatalf("message = %v, want one about %s", m, name)
			}
			got = append(got, m[1].(string))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s was told to %q, want %q", name, got, want)
		}
	}
	heard("abc", "lock:*", "lock:ab*", "lock:abc*")
	w.want([]any{"punsubscribe", "lock:ab*", int64(3)}, "PUNSUBSCRIBE", "lock:ab*")
	heard("abcd", "lock:*", "lock:abc*")
	heard("ac", "lock:*", "lock:ac*")
	w.want([]any{"punsubscribe", "lock:ac*", int64(2)}, "PUNSUBSCRIBE", "lock:ac*")
	heard("acd", "lock:*")
	heard("a", "lock:*")
}

// What has no fence tells of none, as over HTTP.
func TestMessageWithoutFence(t *testing.T) {
	out, err := json.Marshal(message{Event: session.EventQueued, Lock: "a"})
	if err != nil || strings.Contains(string(out), "fence") {
		t.Errorf("message = %s, %v, want one without a fence", out, err)
	}
}

func TestSubscribeRESP3(t *testing.T) {
	g := start(t)
	w := g.dial3()
	w.want(resp.Push{"psubscribe", "lock:*", int64(1)}, "PSUBSCRIBE", "lock:*")
	w.want("PONG", "PING") // other commands go on
	w.send("LOCK", "a")
	var fence, event any
	for range 2 { // in either order
		switch v := w.read().(type) {
		case resp.Push:
			event = v[0]
		case int64:
			fence = v
		}
	}
	if fence == nil || event != "pmessage" {
		t.Errorf("fence %v and event %v, want both", fence, event)
	}
}

// Messages follow the version of the protocol that is spoken.
func TestSubscribedHello(t *testing.T) {
	g := start(t)
	w, other := g.dial3(), g.dial()
	w.want(resp.Push{"subscribe", "lock:a", int64(1)}, "SUBSCRIBE", "lock:a")
	w.do("HELLO", "2")
	other.lock("a")
	if got, ok := w.read().([]any); !ok || got[0] != "message" {
		t.Errorf("message after HELLO 2 = %v, want an array", got)
	}
}

// When the manager drops a subscription the client is told by the end of the
// connection.
func TestSubscriptionDropped(t *testing.T) {
	g := start(t)
	w := g.dial()
	c := g.side(w)
	w.want([]any{"subscribe", "lock:a", int64(1)}, "SUBSCRIBE", "lock:a")
	c.subs.events.Close()
	w.rest()
}

// A RESP2 client could not tell an answer from a message.
func TestSubscribedRESP2(t *testing.T) {
	w := start(t).dial()
	w.want([]any{"subscribe", "lock:a", int64(1)}, "SUBSCRIBE", "lock:a")
	w.wantError("ERR Can't execute 'lock': only (P|S)SUBSCRIBE", "LOCK", "a")
	w.wantError("ERR unknown command 'GET', with args beginning with: 'a' ", "GET", "a")
	w.wantError("ERR Can't execute 'hello'", "HELLO", "3")
	w.want([]any{"pong", ""}, "PING")
	w.want([]any{"pong", "x"}, "PING", "x")
	w.want("RESET", "RESET")
	w.lock("a")
}

// After RESET a client takes whatever comes for the answer to its next command.
func TestNoMessageAfterReset(t *testing.T) {
	g := start(t)
	w := g.dial()
	c := g.side(w)
	w.do("SUBSCRIBE", "lock:a")
	w.do("PSUBSCRIBE", "lock:*")
	subs := c.subs
	w.want("RESET", "RESET")
	late := output{max: 1 << 10}
	subs.add(&late, session.Event{Type: session.EventAcquired, Lock: "a"})
	if len(late.buf) > 0 {
		t.Errorf("an event that was delivered after RESET is told: %q", late.buf)
	}
}

func TestUnsubscribeFromNothing(t *testing.T) {
	w := start(t).dial()
	w.want([]any{"unsubscribe", nil, int64(0)}, "UNSUBSCRIBE")
	w.want([]any{"punsubscribe", "lock:x*", int64(0)}, "PUNSUBSCRIBE", "lock:x*")
	w.send("SUBSCRIBE", "lock:a", "lock:b", "lock:a")
	for i, want := range []any{[]any{"subscribe", "lock:a", int64(1)}, []any{"subscribe", "lock:b", int64(2)}, []any{"subscribe", "lock:a", int64(2)}} {
		if got := w.read(); !reflect.DeepEqual(got, want) {
			t.Errorf("confirmation %d = %v, want %v", i, got, want)
		}
	}
	w.send("UNSUBSCRIBE")
	left := map[any]bool{w.read().([]any)[2]: true, w.read().([]any)[2]: true}
	if !left[int64(1)] || !left[int64(0)] {
		t.Errorf("counts left = %v, want 1 and 0", left)
	}
}

func TestTooManyChannels(t *testing.T) {
	w := start(t).dial()
	for i := range maxChannels {
		w.do("SUBSCRIBE", "lock:"+strconv.Itoa(i))
	}
	w.wantError("BUSY a connection may have 256 subscriptions", "SUBSCRIBE", "lock:x")
	w.want([]any{"unsubscribe", "lock:0", int64(maxChannels - 1)}, "UNSUBSCRIBE", "lock:0")
	w.want([]any{"subscribe", "lock:x", int64(maxChannels)}, "SUBSCRIBE", "lock:x")
}

// A subscriber that falls behind is closed, and the one who locks is not held up.
func TestSlowSubscriber(t *testing.T) {
	g := start(t, func(o *setup) { o.socket.Limits.Write = time.Second })
	slow, other := g.dial(), g.dial()
	slow.want([]any{"psubscribe", "lock:*", int64(1)}, "PSUBSCRIBE", "lock:*")
	name := strings.Repeat("x", 200)
	began := time.Now()
	for range 3000 {
		other.lock(name)
		other.want(int64(0), "UNLOCK", name)
	}
	if took := time.Since(began); took > slack {
		t.Errorf("3000 rounds took %v beside a subscriber that does not read", took)
	}
	if got := slow.rest(); len(got) == 0 {
		t.Error("the subscriber got nothing before it was closed")
	}
}

// The subscriptions of one user are limited over all connections, and those that end make room.
func TestTooManySubscriptionsOfAUser(t *testing.T) {
	g := start(t, func(o *setup) { o.socket.Limits = Limits{ChannelsPerUID: 3} })
	a, b := g.dial(), g.dial()
	a.want([]any{"psubscribe", "lock:a*", int64(1)}, "PSUBSCRIBE", "lock:a*")
	a.want([]any{"psubscribe", "lock:a*", int64(1)}, "PSUBSCRIBE", "lock:a*") // counts once
	b.want([]any{"subscribe", "lock:b", int64(1)}, "SUBSCRIBE", "lock:b")
	b.want([]any{"subscribe", "lock:c", int64(2)}, "SUBSCRIBE", "lock:c")
	a.wantError("BUSY ", "SUBSCRIBE", "lock:d")
	b.want([]any{"unsubscribe", "lock:c", int64(1)}, "UNSUBSCRIBE", "lock:c")
	a.want([]any{"subscribe", "lock:d", int64(2)}, "SUBSCRIBE", "lock:d")
	b.wantError("BUSY ", "SUBSCRIBE", "lock:e")
	a.Close()
	eventually(t, "a connection that ends makes room for two", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.channels[os.Getuid()] == 1
	})
	b.want([]any{"subscribe", "lock:e", int64(2)}, "SUBSCRIBE", "lock:e")
	b.want([]any{"subscribe", "lock:f", int64(3)}, "SUBSCRIBE", "lock:f")
}
