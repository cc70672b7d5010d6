package serve

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
)

// reportEvery is how often the store is asked how it is, for STATUS.
const reportEvery = 10 * time.Second

// serviceManager is told how the gateway is, as systemd is of a service with
// Type=notify. Without NOTIFY_SOCKET nothing happens.
type serviceManager struct {
	log    *slog.Logger
	cancel context.CancelFunc // set by start
	wg     sync.WaitGroup
}

// start tells that g serves, and from then on how its store is and that it is
// alive, until close.
func (s *serviceManager) start(g *gateway) {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	if !s.tell(daemon.SdNotifyReady, "STATUS=serving") {
		return
	}
	s.wg.Go(func() { s.reportStore(ctx, g.manager) })
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.log.Warn("the watchdog setting of the service manager cannot be read; the watchdog gets no signs of life", "err", err)
	}
	if limit > 0 {
		s.wg.Go(func() { s.beat(ctx, limit/2, g.alive) })
	}
}

func (s *serviceManager) close() {
	s.cancel()
	s.wg.Wait()
}

// tell sends lines of sd_notify(3), and says whether anybody has got them.
func (s *serviceManager) tell(lines ...string) bool {
	told, err := daemon.SdNotify(false, strings.Join(lines, "\n"))
	if err != nil {
		s.log.Warn("the service manager was not told how the gateway is", "err", err)
	}
	return told
}

// reload tells that f changes the configuration.
func (s *serviceManager) reload(f func()) {
	s.tell(daemon.SdNotifyReloading, strings.TrimSpace(daemon.SdNotifyMonotonicUsec()))
	f()
	s.tell(daemon.SdNotifyReady)
}

func (s *serviceManager) stopping() { s.tell(daemon.SdNotifyStopping, "STATUS=stopping") }

// reportStore tells each change of the store's state, until m drains.
func (s *serviceManager) reportStore(ctx context.Context, m *session.Manager) {
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	told := ""
	for {
		if state := storeState(ctx, m); state != told && !m.IsDraining() {
			s.tell("STATUS=serving; " + state)
			told = state
		}
		select {
		case <-ctx.Done():
			return
		case <-m.Draining():
			return
		case <-tick.C:
		}
	}
}

// storeState is one line: another one would be a message of its own.
func storeState(ctx context.Context, m *session.Manager) string {
	store := "the store (" + m.Info().Type + ")"
	err := m.Ping(ctx)
	if err == nil {
		return store + " answers"
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	if errors.Is(err, backend.ErrPartly) {
		return store + " is not well: " + text
	}
	return store + " cannot be used: " + text
}
