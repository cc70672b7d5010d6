package session_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/session"
)

// One user who loses lock after lock does not fill the log, and hides no loss of another; how many
// of his are missing is told with the next one.
func TestLossesOfAUserInTheLog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var out bytes.Buffer
		c := newCluster(t, 1, session.Config{Log: slog.New(slog.NewTextHandler(&out, nil))}, nil)
		wild := c.open(0, session.Options{User: "user:1000", Peer: session.NoPeer()})
		other := c.open(0, session.Options{User: "user:2000", Peer: session.NoPeer()})
		lose := func(s *session.Session, name string) {
			mustAcquire(t, s, name, session.Acquire{MaxHold: time.Millisecond})
			time.Sleep(2 * time.Millisecond)
		}
		for i := range 1500 {
			lose(wild, fmt.Sprint("wild", i))
		}
		lose(other, "other")
		logged := func(what string) int {
			synctest.Wait() // until nobody writes
			return strings.Count(out.String(), what)
		}
		if n := logged("lock=wild"); n != 1000 {
			t.Errorf("the log has %d losses of the wild one, want 1000", n)
		}
		if logged("lock=other") != 1 || logged("unlogged_before") != 0 {
			t.Error("the loss of another user is not in the log, or is told to be not the first")
		}
		for range 3 { // others go on meanwhile
			time.Sleep(2 * time.Minute)
			lose(other, "other")
		}
		lose(wild, "late")
		lose(wild, "later")
		if logged("unlogged_before=500") != 1 || logged("unlogged_before") != 1 || logged("lock=later") != 1 {
			t.Error("the 500 that were not logged are not told once")
		}
	})
}
