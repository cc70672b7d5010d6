package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// While the machine sleeps Go's timers stand still. What was lost in that time is told
// when it wakes, not when they go off.
func TestLossIsToldAfterASleep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		clock := &jumpy{}
		c := newCluster(t, 1, session.Config{Clock: clock.now, TTL: 10 * time.Minute}, nil)
		s := c.open(0)
		mustAcquire(t, s, "x", session.Acquire{})
		mustAcquire(t, s, "y", session.Acquire{TTL: 24 * time.Hour})
		sub := c.nodes[0].Subscribe(10, func(e session.Event) bool { return e.Type == session.EventLost })
		defer sub.Close()
		clock.jump(time.Hour)
		time.Sleep(time.Second + time.Millisecond)
		synctest.Wait()
		select {
		case e := <-sub.C:
			if e.Lock != "x" {
				t.Errorf("%s is lost, want x", e.Lock)
			}
		default:
			t.Error("nothing is told a second after the machine woke up")
		}
	})
}

// A timer that was set before the sleep says nothing of what is due after it.
func TestTimerOfBeforeASleep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		clock := &jumpy{}
		f := &faulty{}
		c := newCluster(t, 1, session.Config{Clock: clock.now, TTL: 10 * time.Minute}, hooked(f))
		s := c.open(0)
		mustAcquire(t, s, "x", session.Acquire{TTL: 24 * time.Hour, MaxHold: 2 * time.Hour})
		clock.jump(2*time.Hour - 30*time.Second)
		l, err := s.Lease("x", 1)
		if err != nil {
			t.Fatal(err)
		}
		mustAcquire(t, s, "x", session.Acquire{}) // looks at all that is due, and sets the timer again
		time.Sleep(31 * time.Second)
		synctest.Wait()
		select {
		case <-l.Done():
		default:
			t.Error("it goes on a second after its max_hold")
		}
	})
}

// On the kernel's clock it is the kernel who wakes the gateway.
func TestKernelsTimer(t *testing.T) {
	before := bootTimers(t)
	b := memory.OpenTable(memory.NewRows(), "n")
	defer b.Close()
	m := session.New(b, session.Config{})
	if n := bootTimers(t); n <= before {
		t.Errorf("%d timers on CLOCK_BOOTTIME, before %d", n, before)
	}
	s, _, err := m.Open(session.Options{Peer: session.NoPeer()})
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.Acquire(t.Context(), "x", session.Acquire{MaxHold: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-g.Lease.Done():
	case <-time.After(20 * time.Second):
		t.Error("the timer does not go off")
	}
	if err := m.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if n := bootTimers(t); n != before {
		t.Errorf("%d timers on CLOCK_BOOTTIME after Close, before %d", n, before)
	}
}

// bootTimers counts this process's timers of the kernel on CLOCK_BOOTTIME.
func bootTimers(t *testing.T) (n int) {
	t.Helper()
	infos, err := filepath.Glob("/proc/self/fdinfo/*")
	if err != nil || len(infos) == 0 {
		t.Fatalf("no descriptors: %v", err)
	}
	for _, path := range infos {
		info, _ := os.ReadFile(path) // it may have been closed
		if strings.Contains(string(info), "clockid: 7\n") {
			n++
		}
	}
	return n
}
