package interop

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/socket/client"
)

var handOvers = flag.Int("handovers", 0, "how often Redisson and lockgw hand a lock to each other, in TestHandOver")

// TestHandOver looks for a wake-up that is missed. The release comes just when the other
// side begins to sleep: after it has subscribed, while it checks the lock once more. The
// test logs what Redis saw and what Redisson remembers, but fails only for a waiter of
// lockgw.
func TestHandOver(t *testing.T) {
	if *programs == "" || *handOvers == 0 {
		t.Skip("needs -programs and -handovers")
	}
	watchMachine(t)
	s := startStore(t, "single")
	nodes := startNodes(t, build(t), s)
	for _, p := range allPrograms(*programs) {
		if redisson(p) && strings.Contains(p.title(), *only) {
			t.Run(p.title(), func(t *testing.T) {
				c := &column{program: p, store: s, nodes: nodes}
				c.peer = startPeer(t, c.command, s)
				between, err := c.peer.ask("look", "between", c.kind, "-")
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("a waiter of %s that lies down between the two steps of a message: %s", c.name, between)
				handOver(t, c, s.monitor(t))
			})
		}
	}
}

func handOver(t *testing.T, c *column, seen *record) {
	k := c.a.caller(t)
	var theirs, ours int
	for i := range *handOvers {
		name := fmt.Sprint("handover-", i/10, "-") // no other name contains it
		seen.only(name)
		k.takes(t, name, 0, lease)
		granted := make(chan outcome, 1)
		go func() {
			fence, held, err := c.lock("w", name, long, lease)
			granted <- outcome{fence, held, err, time.Now()}
		}()
		seen.pause()
		k.gives(t, name)
		if c.late(t, granted, name, c.name, seen) {
			theirs++
		}
		seen.only(name)
		go func() {
			v, err := k.Lock(t.Context(), name, client.LockOptions{Wait: long, TTL: lease})
			granted <- outcome{v.Fence, err == nil, err, time.Now()}
		}()
		seen.pause()
		c.gives(t, "w", name)
		if c.late(t, granted, name, "lockgw", seen) {
			ours++
		}
		k.gives(t, name)
	}
	t.Logf("%d hand-overs each way: %s was late %d times, lockgw %d times", *handOvers, c.title(), theirs, ours)
	if ours > 0 {
		t.Errorf("a waiter of lockgw was not woken %d times", ours)
	}
}

// pause waits until somebody has subscribed, and then for a part of the time in which the
// subscriber checks the lock once more before it sleeps.
func (r *record) pause() {
	select {
	case <-r.subscribed:
	case <-time.After(50 * time.Millisecond):
	}
	for end := time.Now().Add(rand.N(time.Millisecond)); time.Now().Before(end); {
		runtime.Gosched() // a sleep would be too long
	}
}

// late waits for the grant. If that does not come soon, it logs what is known.
func (c *column) late(t *testing.T, granted <-chan outcome, name, who string, seen *record) bool {
	released := time.Now()
	select {
	case o := <-granted:
		o.mustHold(t, who)
		return false
	case <-time.After(soon):
	}
	sleepers, err := c.peer.ask("look", "sleepers", c.kind, name)
	o := <-granted
	o.mustHold(t, who)
	t.Logf("%s was granted %s %v after its release; wake-ups left and waiters left in Redisson: %s, %v; Redis:\n%s",
		who, name, o.at.Sub(released), sleepers, err, seen.text())
	return true
}

// record is what Redis was told about one name.
type record struct {
	subscribed chan struct{} // cap 1: somebody did, to hear of its release

	mu    sync.Mutex // guards the fields below
	name  string
	lines []string
}

// monitor keeps what every client says to Redis until the test ends.
func (s *store) monitor(t *testing.T) *record {
	t.Helper()
	conn, err := net.Dial("tcp", s.addrs[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		t.Fatal(err)
	}
	r, done := &record{subscribed: make(chan struct{}, 1), name: "none"}, make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			r.add(lines.Text())
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return r
}

func (r *record) add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !strings.Contains(line, r.name) {
		return
	}
	r.lines = append(r.lines, line[:min(len(line), 300)])
	if strings.Contains(strings.ToLower(line), `"subscribe"`) {
		select {
		case r.subscribed <- struct{}{}:
		default:
		}
	}
}

func (r *record) only(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.name, r.lines = name, nil
	select {
	case <-r.subscribed:
	default:
	}
}

func (r *record) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n")
}
