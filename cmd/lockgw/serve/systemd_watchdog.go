package serve

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// beat tells the service manager every so often that the gateway is alive, while alive says
// so. If alive hangs, nothing is told, and the service manager restarts the process, which
// comes back with its sessions.
func (s *serviceManager) beat(ctx context.Context, every time.Duration, alive func() error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := alive(); err != nil {
			s.log.Error("no sign of life for the service manager, which will restart the gateway", "err", err)
			continue
		}
		s.tell(daemon.SdNotifyWatchdog)
	}
}

// alive proves that requests are answered and that no lock's mutex is stuck. It uses no
// socket, because a crowd of clients must not cause a restart of the gateway. It never asks the
// store, because a restart of the gateway does not bring the store back.
func (g *gateway) alive() error {
	r, err := http.NewRequest(http.MethodGet, "http://localhost/livez", nil)
	if err != nil {
		return err
	}
	w := &statusWriter{header: http.Header{}}
	g.http.Handler.ServeHTTP(w, r)
	if w.status != http.StatusOK {
		return fmt.Errorf("/livez answers with status %d", w.status)
	}
	return nil
}

// statusWriter keeps the status of an answer.
type statusWriter struct {
	header http.Header
	status int
}

func (w *statusWriter) Header() http.Header         { return w.header }
func (w *statusWriter) WriteHeader(status int)      { w.status = status }
func (w *statusWriter) Write(b []byte) (int, error) { return len(b), nil }
