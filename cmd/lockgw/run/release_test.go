package run

import (
	"os"
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
