package socket

import (
	"net"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/resp"
)

func (w *wire) wantPush(want ...any) {
	w.t.Helper()
	if got := w.read(); !reflect.DeepEqual(got, resp.Push(want)) {
		w.t.Errorf("pushed %#v, want %#v", got, want)
	}
}

// Every connection of the session that understands pushes is told, and no other.
func TestPushLost(t *testing.T) {
	g := start(t)
	a, b, plain, stranger := g.dial3(), g.dial3(), g.dial(), g.dial3()
	token := a.token()
	b.want("OK", "AUTH", token)
	plain.want("OK", "AUTH", token)
	stranger.lock("b")
	fence := plain.lock("a", "MAXHOLD", "0.05")
	a.wantPush("lockgw", "lost", "a", fence, "max_hold")
	b.wantPush("lockgw", "lost", "a", fence, "max_hold")
	plain.silent()
	stranger.silent()
	a.wantError("LOST ", "UNLOCK", "a")
}

// A push comes while a command waits, and between answers, never inside of one.
func TestPushWhileWaiting(t *testing.T) {
	g := start(t)
	a, other := g.dial3(), g.dial()
	other.lock("busy")
	fence := a.lock("a", "MAXHOLD", "0.05")
	a.send("LOCK", "busy", "WAIT", "30")
	a.wantPush("lockgw", "lost", "a", fence, "max_hold")
	other.want(int64(0), "UNLOCK", "busy")
	if got, _ := a.read().(int64); got == 0 {
		t.Error("the wait was not granted after a push")
	}
}

func TestPushJeopardy(t *testing.T) {
	var mute atomic.Bool
	g := start(t, withDeafStore(func(string) bool { return mute.Load() }))
	a := g.dial3()
	fence := a.lock("a", "TTL", "3")
	mute.Store(true)
	push, _ := a.read().(resp.Push)
	if len(push) != 5 || push[1] != "jeopardy" || push[2] != "a" || push[3] != fence || push[4] == "" {
		t.Errorf("pushed %v, want jeopardy of a", push)
	}
	a.wantPush("lockgw", "lost", "a", fence, "expired")
	mute.Store(false)
}

// A connection that leaves its session, or RESP3, is not told any more.
func TestPushAfterLeaving(t *testing.T) {
	for name, leave := range map[string]func(w *wire){
		"HELLO 2":     func(w *wire) { w.do("HELLO", "2") },
		"SESSION NEW": func(w *wire) { w.do("SESSION", "NEW") },
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t)
			a, b := g.dial3(), g.dial3()
			token, _ := a.do("SESSION", "NEW").(string)
			b.want("OK", "AUTH", token)
			fence := a.lock("a", "MAXHOLD", "1")
			leave(b)
			a.wantPush("lockgw", "lost", "a", fence, "max_hold")
			b.silent()
		})
	}
}

// A client that does not read its pushes does not keep others from theirs.
func TestPushToDeafClient(t *testing.T) {
	g := start(t)
	ours, theirs := net.Pipe() // takes nothing that is not read
	defer ours.Close()
	deaf := newConn(g.Server, theirs, session.NoPeer(), 1)
	defer theirs.Close()
	g.alarms.add(deaf, "s1")
	told := make(chan struct{})
	go func() { g.alarms.tell(session.Event{Session: "s1", Type: session.EventLost, Lock: "a"}); close(told) }()
	select {
	case <-told:
	case <-time.After(slack):
		t.Error("everybody waits for a client that does not read")
	}
	g.alarms.remove(deaf)
}

// When events were dropped the clients that rely on them are closed: better that
// than to believe in a hold that is over.
func TestAlarmsDropped(t *testing.T) {
	g := start(t)
	a, plain := g.dial3(), g.dial()
	a.lock("a")
	plain.lock("b")
	g.alarms.mu.Lock()
	g.alarms.sub.Close() // as the bus does
	g.alarms.mu.Unlock()
	a.rest()
	plain.want("PONG", "PING")
	again := g.dial3()
	fence := again.lock("c", "MAXHOLD", "0.05")
	again.wantPush("lockgw", string(session.EventLost), "c", fence, "max_hold")
}
