package session_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
)

// Silence of a client that is refused connections says nothing after a restart either,
// whatever the client is counted by.
func TestNoSilenceWhileRefusedAfterARestart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var refused atomic.Int64
		cfg := session.Config{Clock: fakeClock()}
		cfg.Refused = func(o session.Options) time.Duration {
			if o.Account != "token ci" {
				return 0
			}
			return time.Duration(refused.Load())
		}
		p := begin(t, memory.NewRows(), cfg)
		_, token := p.open(session.Options{Keepalive: 5 * time.Second, Account: "token ci", User: "token:ci"})
		p = p.restart()
		s := p.lookup(token)
		for range 3 {
			time.Sleep(4 * time.Second)
			refused.Store(int64(cfg.Clock()))
		}
		if s.Err() != nil {
			t.Errorf("ended while its client was refused: %v", s.Err())
		}
	})
}
