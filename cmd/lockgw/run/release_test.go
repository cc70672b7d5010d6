package run

import (
	"context"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockgw/lockgw/session"
)

// --min-hold is cut short by a signal that asks for the end. One that is for the command, such
// as a terminal that gets another size, is none, also when the command did not live to get it.
func TestKeepSignals(t *testing.T) {
	const minHold = time.Minute
	for _, c := range []struct {
		signals []os.Signal
		cut     bool
	}{
		{[]os.Signal{syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGTSTP, syscall.SIGUSR1, syscall.SIGUSR2}, false},
		{[]os.Signal{syscall.SIGWINCH, syscall.SIGTERM}, true},
		{[]os.Signal{syscall.SIGHUP}, true},
		{[]os.Signal{syscall.SIGINT}, true},
		{[]os.Signal{syscall.SIGQUIT}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			signals := make(chan os.Signal, 16)
			for _, s := range c.signals {
				signals <- s
			}
			h := newHold(&options{})
			defer h.quit()
			h.since = session.Boottime()
			start := time.Now()
			h.keep(minHold, signals)
			if kept := time.Since(start); (kept < minHold/2) != c.cut {
				t.Errorf("%v: kept for %v of %v; want it cut short: %v", c.signals, kept, minHold, c.cut)
			}
		})
	}
}

// A call whose context ends closes the connection. Locks that live by it are given back before
// that, so that a command that has ended at once leads to no false alarm.
func TestReleaseDuringCall(t *testing.T) {
	f := newFake(t)
	f.lease, f.bind = time.Hour, refusal("INVALID")
	h, err := acquireFrom(t, f, &options{names: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	g := showing{f.newest(), make(chan struct{})}
	h.client.Store(new(gateway(g)))
	h.show(os.Getpid())
	<-g.began
	var out strings.Builder
	h.release(&report{w: &out})
	if !slices.Equal(f.given, []string{"a"}) || out.Len() > 0 {
		t.Errorf("%q was given back, told %q, want a, and nothing told", f.given, out.String())
	}
}

// showing is a connection that does not answer Show.
type showing struct {
	*fakeConnection
	began chan struct{}
}

func (s showing) Show(ctx context.Context, _ int) error {
	close(s.began)
	<-ctx.Done()
	_ = s.Close() // as a Client does
	return ctx.Err()
}
