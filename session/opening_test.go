package session_test

import (
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
