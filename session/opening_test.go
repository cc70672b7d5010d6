package session_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/lockgw/lockgw/backend/memory"
	"github.com/lockgw/lockgw/session"
	"github.com/lockgw/lockgw/session/journal"
)

// A session that is ended while it is opened leaves nothing to the next process.
func TestEndedWhileItOpens(t *testing.T) {
	p := begin(t, memory.NewRows(), session.Config{Clock: session.Boottime})
	over := make(chan struct{})
	var enders sync.WaitGroup
	for range 2 {
		enders.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					p.EndUser(t.Context(), "user:1000", "test")
				}
			}
		})
	}
	for range 10000 {
		_, _, _ = p.Open(session.Options{Peer: session.NoPeer(), Keepalive: time.Hour, User: "user:1000"})
	}
	close(over)
	enders.Wait()
	p.EndUser(t.Context(), "user:1000", "test")
	if page, _ := p.Sessions(session.Query{Limit: 10}); len(page) > 0 {
		t.Errorf("sessions are listed: %v", page)
	}
	p.kill()
	j, past, err := journal.Open(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if n := len(past.Sessions); n != 0 {
		t.Errorf("%d sessions come back that were ended", n)
	}
}

// A key finds the session of the process that has opened it, and of no later one that has its number.
func TestKeyOfAnotherProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCluster(t, 1, session.Config{}, nil)
		blocks := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		bound := session.Options{Key: "k", Alive: blocks, Process: session.Process{PID: 7, Started: 1}}
		s := c.open(0, bound)
		if c.open(0, bound) != s {
			t.Error("the same process has another session")
		}
		for _, p := range []session.Process{{PID: 7, Started: 2}, {PID: 8, Started: 1}, {}} {
			bound.Process = p
			_, _, err := c.nodes[0].Open(bound)
			wantCode(t, err, session.CodeConflict)
		}
	})
}
