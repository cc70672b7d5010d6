package run

import (
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/boottime"
	"github.com/lockgw/lockgw/cmd/lockgw/e2e"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/socket/client"
)

func TestEarliest(t *testing.T) {
	a, b := client.Hold{Name: "a", Deadline: 20}, client.Hold{Name: "b", Deadline: 10}
	for _, tt := range []struct {
		names []string
		holds []client.Hold
		want  time.Duration
		all   bool
	}{
		{[]string{"a"}, []client.Hold{a}, 20, true},
		{[]string{"a", "b"}, []client.Hold{b, a}, 10, true},
		{[]string{"a"}, []client.Hold{b, a}, 20, true},
		{[]string{"a", "b"}, []client.Hold{a}, 0, false},
		{[]string{"a"}, nil, 0, false},
	} {
		got, all := earliest(tt.names, tt.holds)
		if got != tt.want || all != tt.all {
			t.Errorf("earliest(%v, %v) = %d, %v; want %d, %v", tt.names, tt.holds, got, all, tt.want, tt.all)
		}
	}
}

func testHold(t *testing.T, names ...string) *hold {
	t.Helper()
	h := newHold(&options{})
	h.token, h.socket, h.owner = "secret", "/s", "u:1"
	var deaf gateway = newFake(t).connection(client.Options{}) // no answer comes
	h.client.Store(&deaf)
	for i, name := range names {
		h.views = append(h.views, client.Hold{Name: name, Owner: "u:1", Fence: uint64(7 + i)})
	}
	return h
}

// While the command is suspended, the gateway may take long to say whether all is held.
func TestGuardOfSuspended(t *testing.T) {
	for suspended, want := range map[bool]bool{false: true, true: false} {
		a, err := boottime.New()
		if err != nil {
			t.Fatal(err)
		}
		g := &guard{h: testHold(t, "a"), alarm: a, grace: time.Second}
		g.update([]client.Hold{{Name: "a", Deadline: session.Boottime() - time.Second}})
		<-a.C
		if g.due(suspended) {
			t.Error("due without having asked")
		}
		wait := e2e.Patience
		if suspended {
			wait = time.Second
		}
		fired := false
		select {
		case <-a.C:
			fired = true
		case <-time.After(wait):
		}
		if fired != want {
			t.Errorf("suspended %v: the alarm goes off within %v: %v, want %v", suspended, wait, fired, want)
		}
		a.Close()
	}
}

// The guard asks once more before it gives up, and a new deadline starts afresh.
func TestGuard(t *testing.T) {
	a, err := boottime.New()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	now := session.Boottime()
	g := &guard{h: testHold(t, "a"), alarm: a, grace: time.Second}
	holds := func(deadline time.Duration) []client.Hold { return []client.Hold{{Name: "a", Deadline: deadline}} }

	if !g.update(holds(now+time.Hour)) || !g.safe() || g.due(false) {
		t.Fatalf("an hour before the deadline: safe = %v, want nothing to be due", g.safe())
	}
	if !g.update(holds(now+time.Second/2)) || g.safe() {
		t.Fatal("inside the grace it is safe still")
	}
	if g.due(false) {
		t.Error("due without having asked")
	}
	select {
	case <-g.h.poke:
	default:
		t.Error("the alarm has asked for no reading")
	}
	if !g.due(false) {
		t.Error("not due, though no reading has come")
	}
	g.update(holds(now + time.Second/2))
	if !g.due(false) {
		t.Error("not due after a reading with the same deadline")
	}
	g.update(holds(now + time.Second*3/4))
	if g.due(false) {
		t.Error("due after a later deadline, without having asked again")
	}
	if g.update(nil) {
		t.Error("a reading without the lock was taken for good")
	}
}

func TestGuardTimes(t *testing.T) {
	for _, tt := range []struct{ ttl, killAfter, grace, margin time.Duration }{
		{30 * time.Second, 10 * time.Second, 10500 * time.Millisecond, 500 * time.Millisecond},
		{30 * time.Second, time.Minute, 10500 * time.Millisecond, 500 * time.Millisecond},
		{30 * time.Second, 4 * time.Second, 4500 * time.Millisecond, 500 * time.Millisecond},
		{time.Second, 0, 200 * time.Millisecond, 100 * time.Millisecond},
	} {
		h := testHold(t, "a", "b")
		h.views[0].Left, h.views[1].Left = tt.ttl+time.Second, tt.ttl
		h.views[0].Deadline, h.views[1].Deadline = session.Boottime()+time.Hour, session.Boottime()+time.Hour
		g, err := newGuard(&options{killAfter: tt.killAfter}, h)
		if err != nil {
			t.Fatal(err)
		}
		if g.grace != tt.grace || g.margin != tt.margin {
			t.Errorf("ttl %v, kill after %v: grace, margin = %v, %v; want %v, %v", tt.ttl, tt.killAfter, g.grace, g.margin, tt.grace, tt.margin)
		}
		if got, want := g.killBy(), h.views[1].Deadline-tt.margin; got > want {
			t.Errorf("killBy is %v after the deadline less the margin", got-want)
		}
		g.Close()
		h.quit()
		h.wg.Wait()
	}
}
