package serve

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/lockgw/lockgw/cmd/lockgw/cli"
)

// signals are the signals that the gateway handles.
type signals struct {
	c    chan os.Signal
	quit chan struct{}
}

func notifySignals() *signals {
	s := &signals{c: make(chan os.Signal, 4), quit: make(chan struct{})}
	signal.Notify(s.c, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	return s
}

// wait reloads at SIGHUP and returns when the gateway is to stop. A stop does not wait for a
// reload: a file that it reads may be on a file system that hangs.
func (s *signals) wait(r *reloader) error {
	for {
		select {
		case <-s.quit:
			return nil
		case sig := <-s.c:
			if sig != syscall.SIGHUP {
				return nil
			}
			go r.signalled() // ends with its files, or with the process
		}
	}
}

// stop ends wait. The next signal to stop ends the process at once, if it is not the same once more.
func (s *signals) stop() {
	time.AfterFunc(cli.SameSignal, func() { signal.Reset(syscall.SIGTERM, syscall.SIGINT) })
	close(s.quit)
}
