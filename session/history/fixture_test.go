package history_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/history"
)

func open(t *testing.T, cfg history.Config) *history.History {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	h, err := history.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func look(t *testing.T, h *history.History, q history.Query) history.Report {
	t.Helper()
	r, err := h.Of(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func who(n int) session.Holder {
	return session.Holder{
		Owner: backend.Owner(fmt.Sprintf("owner-%d:1", n)), Node: "here", Note: "backup.sh",
		Peer: session.Peer{PID: 1000 + n, UID: 1000, Command: "sh"},
	}
}

// caller is one way to a lock and through it, as the core tells it.
type caller struct {
	h     *history.History
	lock  string
	who   session.Holder
	asked time.Time
	fence backend.Fence
	mode  backend.Mode
}

func (c *caller) step(kind session.StepKind, at time.Time, reason string) {
	c.h.Record(session.Step{Kind: kind, Time: at, Lock: c.lock, Who: c.who, Asked: c.asked, Mode: c.mode, Fence: c.fence, Reason: reason})
}

func ask(h *history.History, lock string, n int, at time.Time, behind *session.Holder) *caller {
	c := &caller{h: h, lock: lock, who: who(n), asked: at}
	h.Record(session.Step{Kind: session.StepWaits, Time: at, Lock: lock, Who: c.who, Asked: at, Behind: behind})
	return c
}

func (c *caller) grant(at time.Time, fence backend.Fence) {
	c.fence, c.who.Since = fence, at
	c.step(session.StepGranted, at, "")
}

// attempt is one that is over: asked so long ago, waited and held for so long.
func attempt(h *history.History, lock string, n int, ago, waited, held time.Duration) {
	at := time.Now().Add(-ago)
	c := ask(h, lock, n, at, nil)
	c.grant(at.Add(waited), backend.Fence(n))
	c.step(session.StepReleased, at.Add(waited+held), "")
}
